"""Watches of the peers that connect to a channel, disconnect, or are refused; each calls handlers.

The client's conductor polls the driver's counters at most every 10 ms: a peer that connects and disconnects between
two polls is not reported. The peers of a subscription are its images. Not here: the peers of a publication
(channel_peers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeron_core._native import peers
from aeron_core.client.channel_peers import ChannelPeer
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.client.conductor.callbacks import Callbacks
    from aeron_core.client.publications.publication_base import PublicationBase
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader

# An invented number: short enough for programs that send a message to each new peer, at a negligible load.
_INTERVAL_NS: Final = 10_000_000


@frozen(slots=True)
class PeerRefusal:
    """Peers that a channel has refused, or that have refused it."""

    reason: str
    """The counter of the medium that counts them, such as `sp-refused`; details are in the error log."""
    count: int
    """Refusals since the last poll, or since the watch was added."""


PeerHandler = Callable[[ChannelPeer], object]
RefusalHandler = Callable[[PeerRefusal], object]


@frozen(slots=True, kw_only=True)
class PeerHandlers:
    """Handlers of the peers of a channel; each is optional."""

    on_added: PeerHandler | None = None
    on_removed: PeerHandler | None = None
    on_refused: RefusalHandler | None = None


class PeerWatch:
    """Watch of the peers of one publication or subscription, until it, the resource or the client is closed."""

    def __init__(
        self, resource: PublicationBase | Subscription, handlers: PeerHandlers, counters: CountersReader
    ) -> None:
        self.resource = resource
        self.is_closed = False
        self._handlers = handlers
        self._counters = _refusals_of(resource, counters)
        self._peers: dict[int, ChannelPeer] = {}
        self._refused: dict[str, int] = {}
        self._refused = self._count_refused()

    def close(self) -> None:
        """Stop calling the handlers; closing twice does nothing. Any thread may call it."""
        self.is_closed = True

    def poll(self, callbacks: Callbacks) -> int:
        """Call the handlers for changes since the last poll; return how many changes. For the client's conductor."""
        before, self._peers = self._peers, {peer.session_id: peer for peer in self.resource.peers}
        removed = [peer for session, peer in before.items() if session not in self._peers]
        added = [peer for session, peer in self._peers.items() if session not in before]
        refused = self._newly_refused()
        for peer in removed:
            self._notify(callbacks, self._handlers.on_removed, peer)
        for peer in added:
            self._notify(callbacks, self._handlers.on_added, peer)
        for refusal in refused:
            self._notify(callbacks, self._handlers.on_refused, refusal)
        return len(removed) + len(added) + len(refused)

    def _notify(self, callbacks: Callbacks, handler: Callable[..., object] | None, what: object) -> None:
        # A handler may have closed the watch.
        if handler is not None and not self.is_closed:
            callbacks.peer_event(handler, what)

    def _newly_refused(self) -> list[PeerRefusal]:
        before, self._refused = self._refused, self._count_refused()
        return [
            PeerRefusal(reason, count - before.get(reason, 0))
            for reason, count in self._refused.items()
            if count > before.get(reason, 0)
        ]

    def _count_refused(self) -> dict[str, int]:
        if self.resource.is_closed:
            # The driver may have reused the counters of the closed resource: keep the last counts.
            return self._refused
        return {reason: counter.get_acquire() for reason, counter in self._counters.items()}


def _refusals_of(
    resource: PublicationBase | Subscription, reader: CountersReader
) -> dict[str, AtomicCounter]:
    """Return the counters of refusals of a channel's endpoint by reason, the label up to its colon."""
    if resource.is_closed or resource.channel_status_id < 0:
        return {}
    endpoint_id = reader.registration_id(resource.channel_status_id)
    return {
        record.label.partition(":")[0]: reader.counter(record.id)
        for record in reader
        if record.type_id == peers.COUNTER_TYPE_REFUSALS and record.registration_id == endpoint_id
    }


class PeerWatches:
    """All peer watches of a client; used under the lock of its conductor."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._watches: list[PeerWatch] = []
        self._next_ns = 0

    def add(self, watch: PeerWatch) -> None:
        """Add a watch."""
        self._watches.append(watch)

    def check(self, now_ns: int) -> int:
        """Poll all watches if 10 ms have passed, and remove closed ones; return the number of changes."""
        if not self._watches or now_ns < self._next_ns:
            return 0
        self._next_ns = now_ns + _INTERVAL_NS
        work = 0
        for watch in tuple(self._watches):
            # Read this before the poll: one more poll must follow the close.
            is_last = watch.resource.is_closed
            work += watch.poll(self._callbacks)
            if is_last:
                watch.close()
        self._watches = [watch for watch in self._watches if not watch.is_closed]
        return work
