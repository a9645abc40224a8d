"""Base of publication and image lifecycles: the subscribers of one stream and their states.

    (reserved) ──link──► joining ──LINKED: position, label, available image──► reading ──unlink──► (removed)

The agent that cleans the log chooses the position at which a subscriber joins. The conductor cannot: between its
reading of the other positions and the agent's first look at the new subscriber, the log may have been cleaned
past that position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.driver import events
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.tether import Tether, TetherState
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.driver.conductor.agent_proxy import Linked
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.uri.untethered_timeouts import UntetheredTimeouts

IPC_SOURCE_IDENTITY = "aeron:ipc"


class StreamLifecycle(ABC):
    """One stream with its subscribers. Used by the conductor only."""

    def __init__(self, context: DriverContext, registration_id: int, session_id: int, stream_id: int) -> None:
        self.context = context
        self.registration_id = registration_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.links: dict[SubscriptionEntry, SubscriberPosition] = {}
        # Links that the agent does not follow yet: their positions are not valid.
        self._joining: set[SubscriptionEntry] = set()
        self._tethers: dict[SubscriptionEntry, Tether] = {}
        # Untethered subscribers that the agent is releasing. Their counters stay allocated until they are unlinked.
        self._leaving: set[SubscriberPosition] = set()

    @property
    @abstractmethod
    def log_path(self) -> Path:
        """Path at which clients map the log."""

    @property
    @abstractmethod
    def source_identity(self) -> str:
        """Source of the stream, for clients: address of its sender, or `aeron:ipc` for a publication of this driver."""

    @property
    @abstractmethod
    def accepts_subscriptions(self) -> bool:
        """Whether a subscription may be linked now."""

    @property
    @abstractmethod
    def untethered_timeouts(self) -> UntetheredTimeouts:
        """Timeouts of the states of untethered subscribers."""

    @abstractmethod
    def on_timer(self, now_ns: int) -> bool:
        """Advance the state of the stream; return whether it has ended."""

    @abstractmethod
    def _attach(self, position: SubscriberPosition, then: Linked) -> None:
        """Command the agent to follow a subscriber from a position that the agent chooses, which `then` gets."""

    @abstractmethod
    def _detach(self, position: SubscriberPosition) -> None:
        """Have the agent release a subscriber; call `free_counter_of` only once the agent has released it."""

    def reserve(self, subscription: SubscriptionEntry) -> SubscriberPosition:
        """Allocate the position of a subscription before it is linked. Raises StorageError if no counter is free."""
        # Clients find the counter in the available image; tools find it by this key and label.
        owner = CounterOwner(
            subscription.registration_id,
            self.session_id,
            self.stream_id,
            subscription.channel,
            subscription.client_id,
        )
        counter = stream_counters.allocate_stream_counter(
            self.context.counters,
            counter_types.SUBSCRIBER_POSITION,
            "sub-pos",
            owner,
            reference_id=self.registration_id,
        )
        return SubscriberPosition(counter, subscription.registration_id, subscription.client_id)

    def link(self, subscription: SubscriptionEntry, position: SubscriberPosition) -> None:
        """Add a subscription to the stream; its client gets the available image once the agent follows it."""
        self.links[subscription] = position
        self._joining.add(subscription)
        # A tethered subscriber, the default, may hold back its publisher without limit. An untethered one
        # is dropped when it does so for too long.
        if not subscription.params.is_tether:
            self._tethers[subscription] = Tether(self.context.clock.nano_time())
        # Until LINKED returns, the counter holds no valid position, and the stream does not count as
        # drained.
        self._attach(position, partial(self._on_linked, subscription, position))

    def _on_linked(
        self, subscription: SubscriptionEntry, position: SubscriberPosition, join_position: int
    ) -> None:
        if subscription not in self._joining:
            return
        # As in the reference, the label shows the position at which the subscriber joined first.
        self.context.counters.append_to_label(position.counter.id, f" @{join_position}")
        self._on_rejoined(subscription, position, join_position)

    def _on_rejoined(self, subscription: SubscriptionEntry, position: SubscriberPosition, _: int) -> None:
        if subscription not in self._joining:
            return
        # Announced only now: the client starts to read at the value of the counter, which the agent has just set.
        self._joining.remove(subscription)
        self.context.clients.send(
            responses.OnAvailableImage(
                self.registration_id,
                self.session_id,
                self.stream_id,
                subscription.registration_id,
                position.counter.id,
                str(self.log_path),
                self.source_identity,
            )
        )

    def unlink(self, subscription: SubscriptionEntry) -> None:
        """Remove a subscription from the stream, if it is linked; its client is not notified."""
        is_detached = self._is_detached(subscription)
        # `_is_detached` was called first, because it reads the tether that is removed here.
        self._joining.discard(subscription)
        self._tethers.pop(subscription, None)
        position = self.links.pop(subscription, None)
        if position is None:
            return
        if not is_detached:
            self._detach(position)
        elif position in self._leaving:
            self._leaving.remove(position)
        else:
            self.free_counter_of(position)

    def unlink_all(self, *, notify: bool) -> None:
        """Remove all subscriptions; with `notify` their clients get an unavailable image."""
        if notify:
            self.notify_unavailable()
        for subscription in list(self.links):
            self.unlink(subscription)

    def notify_unavailable(self) -> None:
        """Send an unavailable image for each subscription; see `notify_unavailable_to`.

        Subscriptions that are joining get no available image any more either.
        """
        for subscription in self.links:
            self.notify_unavailable_to(subscription)
        # A LINKED that is still pending sends no available image.
        self._joining = set()

    def notify_unavailable_to(self, subscription: SubscriptionEntry) -> None:
        """Send an unavailable image to the client of a subscription that has an available image.

        It has none if it is not linked, is joining, or is untethered and lingers or rests.
        """
        if (
            subscription in self.links
            and subscription not in self._joining
            and not self._is_detached(subscription)
        ):
            self.context.clients.send(
                responses.OnUnavailableImage(
                    self.registration_id, subscription.registration_id, self.stream_id, subscription.channel
                )
            )

    @property
    def has_readers(self) -> bool:
        """Whether there are subscribers besides untethered ones that linger or rest."""
        # A detached subscriber neither limits the publisher nor keeps an image alive.
        return any(not self._is_detached(subscription) for subscription in self.links)

    def reader_positions(self) -> list[int]:
        """Return the positions of all subscribers except untethered ones that linger or rest.

        That of a subscriber that is joining is not valid yet.
        """
        return [
            position.counter.get_acquire()
            for subscription, position in self.links.items()
            if not self._is_detached(subscription)
        ]

    def _is_detached(self, subscription: SubscriptionEntry) -> bool:
        tether = self._tethers.get(subscription)
        return tether is not None and tether.state is not TetherState.ACTIVE

    @property
    def has_untethered(self) -> bool:
        """Whether there is anything to do for `check_untethered`."""
        return bool(self._tethers)

    def check_untethered(self, limit: int, now_ns: int) -> None:
        """Drop untethered subscribers that stay at or below `limit`, a position, for longer than their timeout.

        Advances their states: dropped ones linger, then are unlinked, or with rejoin=true rest and return.
        """
        timeouts = self.untethered_timeouts
        for subscription, tether in list(self._tethers.items()):
            if tether.state is TetherState.ACTIVE:
                self._check_active(subscription, tether, limit, now_ns)
            elif tether.state is TetherState.LINGER:
                if not tether.has_lasted(timeouts.linger_timeout_ns, now_ns):
                    continue
                # The client was notified that its image is unavailable, and the linger timeout for it to
                # release the image has expired.
                if subscription.params.is_rejoin:
                    self._move(subscription, tether, TetherState.RESTING, now_ns)
                else:
                    self.unlink(subscription)
            elif tether.has_lasted(timeouts.resting_timeout_ns, now_ns):
                self._rejoin(subscription, tether, now_ns)

    def _check_active(self, subscription: SubscriptionEntry, tether: Tether, limit: int, now_ns: int) -> None:
        position = self.links[subscription]
        if subscription in self._joining or position.counter.get_acquire() > limit:
            # The subscriber is fast enough, or is joining and has no valid position yet: the timeout starts again.
            tether.since_ns = now_ns
        elif tether.has_lasted(self.untethered_timeouts.window_limit_timeout_ns, now_ns):
            self.notify_unavailable_to(subscription)
            self._move(subscription, tether, TetherState.LINGER, now_ns)
            # The counter stays allocated: the client may write to it until it releases the image, and a rejoin uses it.
            self._leaving.add(position)
            self._detach(position)

    def _move(self, subscription: SubscriptionEntry, tether: Tether, state: TetherState, now_ns: int) -> None:
        self.context.events.record(
            events.UNTETHERED_STATE_CHANGE,
            subscription_id=subscription.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
            change=f"{tether.state.name}->{state.name}",
        )
        tether.enter(state, now_ns)

    def _rejoin(self, subscription: SubscriptionEntry, tether: Tether, now_ns: int) -> None:
        position = self.links[subscription]
        if position in self._leaving:
            # The agent has not released the position yet: the next timer tries again.
            return
        # Active at once, but joining: it counts as a reader, and its client gets an available image when
        # the agent follows it.
        self._move(subscription, tether, TetherState.ACTIVE, now_ns)
        self._joining.add(subscription)
        self._attach(position, partial(self._on_rejoined, subscription, position))

    def _is_read_by_all(self, position: int) -> bool:
        """Return whether no subscriber is joining, and all of `reader_positions` have reached `position`."""
        # A joining subscriber may still need data: the agent may have chosen its position already.
        return not self._joining and all(reader >= position for reader in self.reader_positions())

    def free_counter_of(self, position: SubscriberPosition) -> None:
        """Free the counter of a released subscriber; an untethered one that lingers keeps it."""
        if position in self._leaving:
            self._leaving.remove(position)
            return
        self.context.counters.free(position.counter.id)
