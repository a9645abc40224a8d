"""Windows with an outstanding acknowledgement, oldest first: to be sent by a reader, or received by a writer.

Not here: when a window is complete (`received_windows`), and the positions of its subscribers (`image_feed`).
Invariant: in a reader, positions never decrease from one entry to the next. In a writer they can: it may resend a lost
part of the log after a later one.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media.lumberjack._native import bounds


class AckQueue:
    """A ring of at most MAX_QUEUED_ACKS windows: end position of the last event in the log, and its acknowledgement.

    `total` counts the events of the connection up to the end of the window. Only `clear`, `is_full` and `push` may be
    called while the ring is empty. Used by one thread.
    """

    def __init__(self) -> None:
        self._positions = AtomicBuffer.allocate(bounds.MAX_QUEUED_ACKS * 8)
        self._sequences = AtomicBuffer.allocate(bounds.MAX_QUEUED_ACKS * 8)
        self._versions = AtomicBuffer.allocate(bounds.MAX_QUEUED_ACKS * 8)
        self._totals = AtomicBuffer.allocate(bounds.MAX_QUEUED_ACKS * 8)
        self.size = 0
        self._first = 0

    def clear(self) -> int:
        """Remove all windows; return 0."""
        self.size = 0
        self._first = 0
        return 0

    def is_full(self) -> bool:
        """Return whether no more windows can be added."""
        return self.size == bounds.MAX_QUEUED_ACKS

    def push(self, version: int, sequence: int, position: int, total: int) -> int:
        """Add a window to a queue that is not full; return the number of windows.

        `version` is '1' or '2' as a byte, `sequence` an unsigned 32-bit number, `position` the end of the last event in
        bytes of the log.
        """
        at = (self._first + self.size) % bounds.MAX_QUEUED_ACKS * 8
        self._positions.put_i64(at, position)
        self._sequences.put_i64(at, sequence)
        self._versions.put_i64(at, version)
        self._totals.put_i64(at, total)
        self.size += 1
        return self.size

    def raise_last(self, sequence: int, position: int, total: int) -> int:
        """Extend the newest window to later events, and keep its version; return the number of windows."""
        at = (self._first + self.size - 1) % bounds.MAX_QUEUED_ACKS * 8
        self._positions.put_i64(at, position)
        self._sequences.put_i64(at, sequence)
        self._totals.put_i64(at, total)
        return self.size

    def position(self) -> int:
        """Return the end position of the oldest window, in bytes of the log."""
        return self._positions.get_i64(self._first * 8)

    def sequence(self) -> int:
        """Return the sequence number that acknowledges the oldest window: that of its last event, 0 if it has none."""
        return self._sequences.get_i64(self._first * 8)

    def version(self) -> int:
        """Return the version of the oldest window, '1' or '2' as a byte."""
        return self._versions.get_i64(self._first * 8)

    def total(self) -> int:
        """Return the number of events of the connection up to the end of the oldest window."""
        return self._totals.get_i64(self._first * 8)

    def pop(self) -> int:
        """Remove the oldest window; return the number of windows left."""
        self._first = (self._first + 1) % bounds.MAX_QUEUED_ACKS
        self.size -= 1
        return self.size
