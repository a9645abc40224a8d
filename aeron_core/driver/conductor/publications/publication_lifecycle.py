"""The life of a publication, as far as it is the same on any medium.

    ACTIVE ──last client gone──► DRAINING ──all consumed──► LINGER ──► DONE
       └──────────revoked──────────────────────────────────►┘

Not here: sending (`network_publication`) and the publisher limit, which the sender looks after.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from aeron_core.driver import events
from aeron_core.driver._native import operations
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.lifecycle import StreamLifecycle
from aeron_core.driver.conductor.stream_counters import CounterOwner
from aeron_core.logbuffer.unblocker import unblock, unblock_for_good

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aeron_core._native.counter import Counter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.log_storage import StoredLog
    from aeron_core.driver.sender.ipc_publication import IpcPublication
    from aeron_core.driver.sender.sending_publication import SendingPublication
    from aeron_core.uri.parameters import PublicationParams, UntetheredTimeouts


class PublicationLifecycle(StreamLifecycle):
    """A stream that clients of this driver publish."""

    #: What the sender works with.
    publication: IpcPublication | SendingPublication

    def __init__(  # noqa: PLR0913 - what identifies a stream
        self,
        context: DriverContext,
        stored: StoredLog,
        params: PublicationParams,
        *,
        registration_id: int,
        session_id: int,
        stream_id: int,
        channel: str,
        is_exclusive: bool,
    ) -> None:
        super().__init__(context, registration_id, session_id, stream_id)
        self.stored = stored
        self.params = params
        self.channel = channel
        self.is_exclusive = is_exclusive
        self.reference_count = 0
        self.counters: list[Counter] = []
        self._strategy_counters: list[Counter] = []
        #: Whether a subscriber has refused the stream: nobody is linked meanwhile.
        self.is_cooling_down = False
        self._state_change_ns = context.clock.nano_time()
        self._last_blocked_position = -1
        self._last_progress_ns = self._state_change_ns

    @property
    def log_path(self) -> Path:
        """Where clients map the log."""
        return self.stored.path

    @property
    def source_identity(self) -> str:
        """Who publishes, as clients see it."""
        return "aeron:ipc"

    @property
    def untethered_timeouts(self) -> UntetheredTimeouts:
        """See `Stream.untethered_timeouts`."""
        return self.params.untethered

    @property
    def state(self) -> int:
        """One of the PUBLICATION_… numbers."""
        return self.publication.state.get_acquire()

    @property
    def accepts_subscriptions(self) -> bool:
        """Whether a subscription may still be linked."""
        if self.is_cooling_down:
            return False
        state = self.state
        return state == operations.PUBLICATION_ACTIVE or (
            state == operations.PUBLICATION_DRAINING and self._has_something_left()
        )

    @abstractmethod
    def _has_something_left(self) -> bool:
        """Return whether a stream that drains has subscribers and something for one more."""

    @property
    def is_shareable(self) -> bool:
        """Whether another client may use the publication."""
        return self.state == operations.PUBLICATION_ACTIVE and not self.is_exclusive

    @property
    def producer_position(self) -> int:
        """How far publishers have appended."""
        return self.stored.log.producer_position()

    def allocate_counters(self, names: Iterable[tuple[int, str]], owner: CounterOwner) -> None:
        """Allocate counters by type and name; those that there were room for are freed by `close`."""
        for type_id, name in names:
            self.counters.append(
                stream_counters.allocate_stream_counter(self.context.counters, type_id, name, owner)
            )

    def new_strategy_counter(self, type_id: int, name: str) -> Counter:
        """Return one more counter of the stream, for its flow control; `close` frees it."""
        owner = CounterOwner(self.registration_id, self.session_id, self.stream_id, self.channel)
        counter = stream_counters.allocate_stream_counter(self.context.counters, type_id, name, owner)
        self._strategy_counters.append(counter)
        return counter

    @abstractmethod
    def _consumer_position(self) -> int:
        """Return how far the stream has been consumed, to tell whether it moves."""

    def _blocked_position(self) -> int:
        """Return where the stream is stuck while this does not move, unless that is its end."""
        return self._consumer_position()

    def release(self, *, revoke: bool) -> None:
        """Count one client less; the stream ends with the last."""
        self.reference_count -= 1
        if revoke:
            self.stored.log.set_is_revoked(True)
        if self.reference_count > 0:
            return
        self.stored.log.set_end_of_stream_position(self.producer_position)
        if not self.stored.log.is_revoked():
            self._on_released()
            self._enter(operations.PUBLICATION_DRAINING)

    def _on_released(self) -> None:
        """Note that no client publishes any more."""

    def on_timer(self, now_ns: int) -> bool:
        """Go on with the life of the stream; return whether it is over."""
        state = self.state
        if state == operations.PUBLICATION_ACTIVE:
            if self.stored.log.is_revoked():
                self._revoke()
            else:
                # Source: aeron_network_publication_check_untethered_subscriptions, and that of IPC.
                window = self.params.publication_window_length
                self.check_untethered(self._consumer_position() - window + window // 4, now_ns)
                if not self.is_exclusive:
                    self._unblock_if_stuck(now_ns)
        elif state == operations.PUBLICATION_DRAINING:
            self._drain(now_ns)
        elif state == operations.PUBLICATION_LINGER and self._has_lingered(now_ns):
            self._enter(operations.PUBLICATION_DONE)
            return True
        return False

    @abstractmethod
    def _drain(self, now_ns: int) -> None:
        """Go on to LINGER once everything has been consumed."""

    @abstractmethod
    def _has_lingered(self, now_ns: int) -> bool:
        """Return whether the stream may be taken down."""

    def _revoke(self) -> None:
        self.stored.log.set_end_of_stream_position(self.producer_position)
        self.stored.log.set_is_connected(False)
        self.context.system_counters.publications_revoked.get_and_add(1)
        self.context.events.note(
            events.PUBLICATION_REVOKE,
            registration_id=self.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
        )
        self._enter(operations.PUBLICATION_LINGER)
        self.unlink_all(notify=True)

    def _enter(self, state: int) -> None:
        self._state_change_ns = self.context.clock.nano_time()
        self.publication.state.set_release(state)

    def _unblock_if_stuck(self, now_ns: int) -> None:
        # A publisher that died between claim and commit would block all others for ever.
        position = self._blocked_position()
        if position != self._last_blocked_position or self.producer_position <= position:
            self._last_blocked_position = position
            self._last_progress_ns = now_ns
        elif now_ns > self._last_progress_ns + self.context.settings.publication_unblock_timeout_ns:
            self._unblock(position)

    def _unblock(self, position: int) -> bool:
        return self._count_unblocked(unblock(self.stored.log, position))

    def _pass_over_dead_claim(self, position: int) -> bool:
        """Let a stream that nobody publishes any more go on past `position`; return whether anything was done.

        Unlike the reference, also past the last claim of all where its publisher had moved the tail only: readers
        would wait for it as long as they live.
        """
        if position >= self.producer_position:
            return False
        return self._unblock(position) or self._count_unblocked(unblock_for_good(self.stored.log, position))

    def _count_unblocked(self, is_unblocked: bool) -> bool:
        if is_unblocked:
            self.context.system_counters.unblocked_publications.get_and_add(1)
        return is_unblocked

    def close(self) -> None:
        """Give back the counters and the log; no agent knows the stream any more."""
        self.context.events.note(
            events.REMOVE_PUBLICATION_CLEANUP,
            registration_id=self.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
        )
        for counter in (*self.counters, *self._strategy_counters):
            self.context.counters.free(counter.id)
        self.counters.clear()
        self._strategy_counters.clear()
        self.context.logs.delete(self.stored)
