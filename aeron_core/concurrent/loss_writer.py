"""Writer of the loss report: an entry is prepared when its image is created, and written at its first loss.

Preparing needs the GIL and memory; recording needs neither, so that the receiver can record a loss when it detects it.
Not here: reading the report (`loss_report`), and detecting losses.
Invariant: an entry is complete before its observation count is stored.
Source: aeron_loss_reporter.c.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.loss_report import INT_LENGTH, source_offset_of

FULL: Final = -2
"""The offset of an entry that did not fit into the report; its losses are not recorded."""

# C integers of this module: FULL, and the offset of an entry that is not in the report because it has no losses.
_FULL = -2
_UNWRITTEN = -1


class LossReport:
    """Writes the report; `buffer` starts as zeros. All losses are recorded by one thread."""

    def __init__(self, buffer: AtomicBuffer) -> None:
        self._buffer = buffer
        self._next_offset = 0

    def prepare(self, *, session_id: int, stream_id: int, channel: str, source: str) -> StreamLosses:
        """Return the writer of a stream's entry, which is added at its first loss; any thread may call this."""
        channel_bytes = channel.encode(errors="replace")
        source_bytes = source.encode(errors="replace")
        source_offset = source_offset_of(len(channel_bytes))
        entry = AtomicBuffer.allocate(source_offset + INT_LENGTH + len(source_bytes))
        entry.put_i32(wire.LOSS_SESSION_ID_OFFSET, session_id)
        entry.put_i32(wire.LOSS_STREAM_ID_OFFSET, stream_id)
        for offset, text in ((wire.LOSS_CHANNEL_OFFSET, channel_bytes), (source_offset, source_bytes)):
            entry.put_i32(offset, len(text))
            entry.put_bytes(offset + INT_LENGTH, text)
        return StreamLosses(self, entry, positions.align(entry.capacity, wire.LOSS_ENTRY_ALIGNMENT))

    def append(self, entry: AtomicBuffer, reserved_length: int) -> int:
        """Copy an entry into the report, where it takes `reserved_length` bytes; return its offset in bytes, or FULL.

        Called by the thread that records losses.
        """
        offset = self._next_offset
        if entry.capacity > self._buffer.capacity - offset:
            return _FULL
        # Copy all but the count: a reader may be loading it, and takes a count of 0 for the end of the report.
        begin = wire.LOSS_OBSERVATION_COUNT_OFFSET + 8
        self._buffer.copy_from(offset + begin, entry, begin, entry.capacity - begin)
        # Release: a reader that loads the count with acquire also sees the entry.
        self._buffer.put_i64_release(offset + wire.LOSS_OBSERVATION_COUNT_OFFSET, 1)
        self._next_offset = offset + reserved_length
        return offset

    def observe(self, offset: int, bytes_lost: int, now_ms: int) -> int:
        """Add a loss to the entry at `offset`; return 0. `now_ms`: since the epoch.

        Called by the thread that records losses.
        """
        self._buffer.put_i64_release(offset + wire.LOSS_LAST_OBSERVATION_OFFSET, now_ms)
        self._buffer.get_and_add_i64(offset + wire.LOSS_TOTAL_BYTES_OFFSET, bytes_lost)
        # The count is added last: a reader that loads the new count with acquire also sees the new total.
        self._buffer.get_and_add_i64(offset + wire.LOSS_OBSERVATION_COUNT_OFFSET, 1)
        return 0


class StreamLosses:
    """The losses of one stream from one source; one thread records them."""

    def __init__(self, report: LossReport, entry: AtomicBuffer, reserved_length: int) -> None:
        """Create the writer of `entry`, which is complete except for its totals and times."""
        self.offset = _UNWRITTEN
        self._report = report
        self._entry = entry
        self._reserved_length = reserved_length

    def record(self, bytes_lost: int, now_ms: int) -> int:
        """Add a loss to the entry, which the first loss creates; return the entry's offset in bytes, or FULL.

        `now_ms`: since the epoch.
        """
        if self.offset >= 0:
            self._report.observe(self.offset, bytes_lost, now_ms)
        elif self.offset == _UNWRITTEN:
            # Plain stores: the entry is private memory until `append` copies it.
            self._entry.put_i64(wire.LOSS_TOTAL_BYTES_OFFSET, bytes_lost)
            self._entry.put_i64(wire.LOSS_FIRST_OBSERVATION_OFFSET, now_ms)
            self._entry.put_i64(wire.LOSS_LAST_OBSERVATION_OFFSET, now_ms)
            # As in the reference, an entry that did not fit once is not tried again.
            self.offset = self._report.append(self._entry, self._reserved_length)
        return self.offset
