"""The part of a publication's lifecycle that is the same on any medium.

    ACTIVE ──last client gone──► DRAINING ──all consumed, or undeliverable──► LINGER ──► DONE
       └──────────revoked────────────────────────────────────────────────────►┘

Not here: sending (`network_publication`) and the publisher limit, which the sender updates.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.driver import events
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.lifecycle import IPC_SOURCE_IDENTITY, StreamLifecycle
from aeron_core.logbuffer.unblocker import unblock, unblock_for_good

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
    from aeron_core.driver.conductor.senders import SenderLink
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.sender.ipc_publication import IpcPublication
    from aeron_core.driver.sender.sending_publication import SendingPublication
    from aeron_core.uri.untethered_timeouts import UntetheredTimeouts


class PublicationLifecycle(StreamLifecycle):
    """A stream that clients of this driver publish to. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        sender: SenderLink,
        publication: IpcPublication | SendingPublication,
        request: PublicationRequest,
        storage: StreamStorage,
    ) -> None:
        owner = storage.owner
        super().__init__(context, owner.registration_id, owner.session_id, owner.stream_id)
        #: The sender that the publication belongs to.
        self.sender = sender
        self._publication = publication
        self._storage = storage
        self.log = storage.log
        self.params = request.params
        self.channel = owner.channel
        self.is_exclusive = request.is_exclusive
        # Number of publications of clients that share the stream.
        self.reference_count = 0
        #: Whether a subscriber rejected the stream: no subscription is linked until its cool-down is over.
        self.is_cooling_down = False
        self._state_change_ns = context.clock.nano_time()
        self._last_blocked_position = -1
        self._last_progress_ns = self._state_change_ns

    @property
    def log_path(self) -> Path:
        """Path at which clients map the log."""
        return self._storage.path

    @property
    def source_identity(self) -> str:
        """Source of the stream as clients see it: `aeron:ipc`, because they read the log of the publication."""
        return IPC_SOURCE_IDENTITY

    @property
    def untethered_timeouts(self) -> UntetheredTimeouts:
        """Timeouts of the states of untethered subscribers."""
        return self.params.untethered

    @property
    def publisher_limit_id(self) -> int:
        """Id of the counter of the publisher limit."""
        return self._storage[counter_types.PUBLISHER_LIMIT].id

    @property
    def state(self) -> int:
        """State of the publication, an `operations.PUBLICATION_…`."""
        # Written by the conductor only; the sender reads it to stop raising the publisher limit.
        return self._publication.state.get_acquire()

    def note_silent_client(self) -> None:
        """Let the sender look for messages: a client that publishes does not ring its bell."""
        if self._publication.is_rung.get_acquire():
            self._publication.is_rung.set_release(0)
            self._visit()

    @abstractmethod
    def _visit(self) -> None:
        """Have the sender visit the stream, of which the conductor has changed something."""

    @property
    def accepts_subscriptions(self) -> bool:
        """Whether a subscription may be linked now; not during the cool-down after a rejection."""
        if self.is_cooling_down:
            return False
        state = self.state
        return state == operations.PUBLICATION_ACTIVE or (
            state == operations.PUBLICATION_DRAINING and self._has_unread_data()
        )

    @abstractmethod
    def _has_unread_data(self) -> bool:
        """Return whether a draining stream has data that a new subscriber may read."""

    @property
    def is_shareable(self) -> bool:
        """Whether a further add command may share the publication: it is active and not exclusive."""
        return self.state == operations.PUBLICATION_ACTIVE and not self.is_exclusive

    @property
    def producer_position(self) -> int:
        """Position up to which publishers have claimed the log."""
        return self.log.producer_position()

    @abstractmethod
    def _consumer_position(self) -> int:
        """Return the position of the furthest consumer: of the sender, or for IPC of a subscriber."""

    def _blocked_position(self) -> int:
        """Return a position at which the stream is blocked if it stays the same and is not the end of the stream."""
        return self._consumer_position()

    def release(self, *, revoke: bool) -> None:
        """Remove one user; after the last, the stream drains.

        A revoked stream does not drain: the next timer makes it linger, even if it has other users.
        """
        self.reference_count -= 1
        if revoke:
            # One client revokes the stream for all that share it. The timer acts on the flag, which
            # clients also see in the log.
            self.log.set_is_revoked(True)
        if self.reference_count > 0:
            return
        self.log.set_end_of_stream_position(self.producer_position)
        # A revoked stream does not drain: it stays ACTIVE until the timer moves it to LINGER.
        if not self.log.is_revoked():
            self._on_released()
            self._enter(operations.PUBLICATION_DRAINING)

    def _on_released(self) -> None:
        """Handle the release of the publication by its last client."""

    def on_timer(self, now_ns: int) -> bool:
        """Advance the state of the stream; return whether it has ended."""
        state = self.state
        if state == operations.PUBLICATION_ACTIVE:
            if self.log.is_revoked():
                self._revoke()
            else:
                # Source: aeron_network_publication_check_untethered_subscriptions, and that of IPC.
                # A subscriber at this limit or below leaves publishers at most a quarter of their window beyond the
                # furthest consumer.
                if self.has_untethered:
                    window = self.params.publication_window_length
                    self.check_untethered(self._consumer_position() - window + window // 4, now_ns)
                # If the only publisher of an exclusive stream died, its client times out and the stream
                # drains.
                if not self.is_exclusive:
                    self._unblock_if_stuck(now_ns)
        elif state == operations.PUBLICATION_DRAINING:
            # There are no publishers any more, but subscribers and receivers may still need the remaining data.
            self._drain(now_ns)
        elif state == operations.PUBLICATION_LINGER and self._has_lingered(now_ns):
            # The registrar stops the stream: it is removed from the sender, then its log is released.
            self._enter(operations.PUBLICATION_DONE)
            return True
        return False

    @abstractmethod
    def _drain(self, now_ns: int) -> None:
        """Enter LINGER once all data was consumed, or can no longer be delivered."""

    @abstractmethod
    def _has_lingered(self, now_ns: int) -> bool:
        """Return whether the stream may be removed."""

    def _revoke(self) -> None:
        self.log.set_end_of_stream_position(self.producer_position)
        # Offers beyond the publisher limit return NOT_CONNECTED from now on, not BACK_PRESSURED.
        self.log.set_is_connected(False)
        self.context.system_counters.publications_revoked.get_and_add(1)
        self.context.events.record(
            events.PUBLICATION_REVOKE,
            registration_id=self.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
        )
        self._enter(operations.PUBLICATION_LINGER)
        self.unlink_all(notify=True)

    def _enter(self, state: int) -> None:
        self._state_change_ns = self.context.clock.nano_time()
        # Release: pairs with the acquire of the sender, which does not move the limit of a stream that is
        # not ACTIVE.
        self._publication.state.set_release(state)

    def _unblock_if_stuck(self, now_ns: int) -> None:
        # A publisher that died between claim and commit would block the consumers of the stream, and so its other
        # publishers. Progress of the consumers, or a stream that is read to its end, restarts the timeout.
        position = self._blocked_position()
        if position != self._last_blocked_position or self.producer_position <= position:
            self._last_blocked_position = position
            self._last_progress_ns = now_ns
        elif now_ns > self._last_progress_ns + self.context.settings.publication_unblock_timeout_ns:
            self._unblock(position)

    def _unblock(self, position: int) -> bool:
        return self._count_unblocked(unblock(self.log, position))

    def _skip_dead_claim(self, position: int) -> bool:
        """Unblock a stream without publishers at `position`; return whether anything was done.

        Unlike the reference, this also passes the last claim if its publisher moved only the tail: otherwise readers
        would never reach the end of the stream.
        """
        # Nothing was claimed beyond the position: it is the end, not a gap.
        if position >= self.producer_position:
            return False
        # Try first what is safe for a live stream too; then, since no publisher is left, pad up to the tail.
        return self._unblock(position) or self._count_unblocked(unblock_for_good(self.log, position))

    def _count_unblocked(self, is_unblocked: bool) -> bool:
        if is_unblocked:
            self.context.system_counters.unblocked_publications.get_and_add(1)
        return is_unblocked

    def close(self) -> None:
        """Free the counters and queue the log for deletion; the sender must have released the publication."""
        self.context.events.record(
            events.REMOVE_PUBLICATION_CLEANUP,
            registration_id=self.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
        )
        # Clients may still have the file mapped: its memory is freed with the last mapping.
        self._storage.release()
