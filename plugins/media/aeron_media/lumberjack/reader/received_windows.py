"""Windows of a connection: which of its events an acknowledgement covers.

A window is the number of events that its W frame announces. Its acknowledgement carries the version of the W and the
sequence number of the last event. Events beyond their window, as from v1 writers that send W once, begin an implicit
window of the same size; implicit windows that are due together share one acknowledgement. A W before the end of its
predecessor ends that window. A window longer than `max-window` is acknowledged in parts of that size, so its length
costs no memory.

Not here: when an acknowledgement is due and sent (`reader_connection`).
Invariant: the entries of `acks` cover the events in their order; only the last events, fewer than `max-window`, may
have none yet.
"""

from __future__ import annotations

from aeron_media.lumberjack._native import bounds, wire
from aeron_media.lumberjack.ack_queue import AckQueue


class ReceivedWindows:
    """The current window and the queue of acknowledgements; used by the receiver.

    `length`: number of events that the last W with events announced, 1 before it. `left`: events of the window that
    have not arrived. `last_position`: end position of the last event, in bytes of the log, 0 before it.
    """

    def __init__(self, max_window: int) -> None:
        self.acks = AckQueue()
        self._max_window = max_window
        self.clear()

    def clear(self) -> int:
        """Forget all windows, for a connection that has sent no frame yet; return 0."""
        self.acks.clear()
        self.version = wire.VERSION_2
        self.length = 1
        self.left = 0
        self.last_position = 0
        self._is_explicit = False
        self._was_implicit = False
        self._uncovered = 0
        self._last_sequence = 0
        self._total = 0
        return 0

    def can_begin(self) -> bool:
        """Return whether `begin` may be called."""
        # Two entries must be free: a W frame can also end the window before it.
        return self.acks.size + 2 <= bounds.MAX_QUEUED_ACKS

    def begin(self, version: int, length: int) -> int:
        """Begin a window of `length` events if `can_begin` returns True; return whether that is progress.

        It is not if the window before was announced, is incomplete, and has no event that still needs an
        acknowledgement. A window without events is a liveness check: its acknowledgement is queued at once.
        """
        self.end_window()
        is_progress = self.left == 0 or not self._is_explicit
        self.version = version
        if length == 0:
            self.acks.push(version, 0, self.last_position, self._total)
            self._was_implicit = False
            return is_progress
        self.length = length
        self.left = length
        self._is_explicit = True
        return is_progress

    def add_event(self, sequence: int, position: int, total: int) -> int:
        """Add an event while `acks` is not full; return 0.

        `position`: its end in the log, in bytes; `total`: events of the connection with this one.
        """
        self._last_sequence = sequence
        self.last_position = position
        self._total = total
        self._uncovered += 1
        if self.left == 0:
            # An event beyond its window begins an implicit window of the same size.
            self.left = self.length
            self._is_explicit = False
        self.left -= 1
        if self.left == 0 or self._uncovered >= self._max_window:
            self.cover()
        return 0

    def cover(self) -> int:
        """Queue an acknowledgement up to the last event while `acks` is not full; return 0.

        For an implicit window it replaces the newest queued one if that is for an implicit window, too.
        """
        if not self._is_explicit and self.acks.size > 0 and self._was_implicit:
            self.acks.raise_last(self._last_sequence, self.last_position, self._total)
        else:
            self.acks.push(self.version, self._last_sequence, self.last_position, self._total)
        self._was_implicit = not self._is_explicit
        self._uncovered = 0
        return 0

    def end_window(self) -> int:
        """Queue an acknowledgement of the events without one, if it fits, and end their window; return 0.

        Without such events do nothing.
        """
        if self._uncovered > 0 and not self.acks.is_full():
            self.cover()
            self.left = 0
        return 0

    def is_covered(self) -> bool:
        """Return whether an acknowledgement of each event was queued."""
        return self._uncovered == 0

    def is_unfinished(self) -> bool:
        """Return whether events of an announced window of version 2 have not arrived."""
        # A writer of version 1 may take hours to fill a window.
        return self.left > 0 and self._is_explicit and self.version == wire.VERSION_2
