"""Loss report in shared memory: one entry per stream and source, with totals.

Not here: writing it (`loss_writer`). Entries are only added; an observation count of 0 ends the report.

The channel is padded to a multiple of four bytes, and the length of an entry includes the padding. The C reader of the
reference ignores the padding, and misreads the entries after an entry with padding that crosses a multiple of 64.

Source: aeron_loss_reporter.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aeron_core._native import positions, wire
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer

#: File of the report in a driver's directory.
LOSS_REPORT_FILE: Final = "loss-report.dat"
#: Bytes of the length field before a text.
INT_LENGTH: Final = 4


@frozen(slots=True)
class LossEntry:
    """The losses of one stream from one source; times in ms since the epoch."""

    observation_count: int
    total_bytes_lost: int
    first_observation_ms: int
    last_observation_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str


def read_loss_report(buffer: AtomicBuffer) -> Iterator[LossEntry]:
    """Yield the entries in the order of their first loss.

    Raises ProtocolError at an entry that does not end within the buffer, after yielding all entries before
    it.
    """
    offset = 0
    while offset + wire.LOSS_CHANNEL_OFFSET <= buffer.capacity:
        # Acquire: pairs with the release in `LossReport.append`.
        observation_count = buffer.get_i64_acquire(offset + wire.LOSS_OBSERVATION_COUNT_OFFSET)
        # 0 is memory that was never written; no writer stores a negative count.
        if observation_count <= 0:
            return
        channel = _read_text(buffer, offset + wire.LOSS_CHANNEL_OFFSET)
        source_offset = offset + source_offset_of(len(channel))
        source = _read_text(buffer, source_offset)
        yield LossEntry(
            observation_count=observation_count,
            total_bytes_lost=buffer.get_i64_acquire(offset + wire.LOSS_TOTAL_BYTES_OFFSET),
            first_observation_ms=buffer.get_i64(offset + wire.LOSS_FIRST_OBSERVATION_OFFSET),
            last_observation_ms=buffer.get_i64_acquire(offset + wire.LOSS_LAST_OBSERVATION_OFFSET),
            session_id=buffer.get_i32(offset + wire.LOSS_SESSION_ID_OFFSET),
            stream_id=buffer.get_i32(offset + wire.LOSS_STREAM_ID_OFFSET),
            channel=channel.decode(errors="replace"),
            source=source.decode(errors="replace"),
        )
        # The next entry starts at a multiple of 64, the length of a cache line.
        length = source_offset - offset + INT_LENGTH + len(source)
        offset += positions.align(length, wire.LOSS_ENTRY_ALIGNMENT)


def _read_text(buffer: AtomicBuffer, offset: int) -> bytes:
    """Return the text after the int32 length at `offset`; raise ProtocolError unless it ends within the report."""
    start = offset + INT_LENGTH
    length = buffer.get_i32(offset) if start <= buffer.capacity else -1
    if not 0 <= length <= buffer.capacity - start:
        raise ProtocolError(
            f"text of {length} bytes at {offset} of the loss report: must be from 0 to "
            f"{max(0, buffer.capacity - start)} bytes, to the end of the report; the report is damaged, restart the "
            f"media driver to begin a new one"
        )
    return buffer.get_bytes(start, length)


def source_offset_of(channel_length: int) -> int:
    """Return the offset in bytes of the source within an entry with a channel of `channel_length` bytes."""
    return wire.LOSS_CHANNEL_OFFSET + INT_LENGTH + positions.align(channel_length, INT_LENGTH)
