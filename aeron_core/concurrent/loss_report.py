"""Loss report in shared memory: one entry per stream and source, with totals.

Not here: detecting losses. Entries are only added; an observation count of 0 ends the report.
Invariant: an entry is complete before its observation count is stored.

The channel is padded to four bytes, and the padding counts in the length of an entry. The C reader of the reference
leaves it out, and so misreads the entries after one whose padding crosses a multiple of 64.

Source: aeron_loss_reporter.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.errors import ProtocolError

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer

FULL: Final = -1
"""The handle of an entry that did not fit into the report; observing it does nothing."""


@dataclass(frozen=True, slots=True)
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


class LossReport:
    """Writes the report; `buffer` starts as zeros. One thread creates entries and adds observations."""

    def __init__(self, buffer: AtomicBuffer) -> None:
        self._buffer = buffer
        self._next_offset = 0

    def create_entry(  # noqa: PLR0913 - the fields of an entry, all of which belong together
        self,
        *,
        bytes_lost: int,
        now_ms: int,
        session_id: int,
        stream_id: int,
        channel: str,
        source: str,
        observations: int = 1,
    ) -> int:
        """Add an entry whose first losses total `bytes_lost` bytes; return its handle, or FULL."""
        channel_bytes = channel.encode(errors="replace")
        source_bytes = source.encode(errors="replace")
        source_offset = _source_offset(len(channel_bytes))
        length = source_offset + _INT_LENGTH + len(source_bytes)
        offset = self._next_offset
        if length > self._buffer.capacity - offset:
            return FULL
        self._buffer.put_i64(offset + wire.LOSS_TOTAL_BYTES_OFFSET, bytes_lost)
        self._buffer.put_i64(offset + wire.LOSS_FIRST_OBSERVATION_OFFSET, now_ms)
        self._buffer.put_i64(offset + wire.LOSS_LAST_OBSERVATION_OFFSET, now_ms)
        self._buffer.put_i32(offset + wire.LOSS_SESSION_ID_OFFSET, session_id)
        self._buffer.put_i32(offset + wire.LOSS_STREAM_ID_OFFSET, stream_id)
        self._put_text(offset + wire.LOSS_CHANNEL_OFFSET, channel_bytes)
        self._put_text(offset + source_offset, source_bytes)
        # Release: a reader that sees the count also sees the entry.
        self._buffer.put_i64_release(offset + wire.LOSS_OBSERVATION_COUNT_OFFSET, observations)
        self._next_offset = offset + _align(length, wire.LOSS_ENTRY_ALIGNMENT)
        return offset

    def observe(self, handle: int, bytes_lost: int, now_ms: int, observations: int = 1) -> None:
        """Add losses of `bytes_lost` bytes in total to an entry."""
        if handle < 0:
            return
        self._buffer.put_i64_release(handle + wire.LOSS_LAST_OBSERVATION_OFFSET, now_ms)
        self._buffer.get_and_add_i64(handle + wire.LOSS_TOTAL_BYTES_OFFSET, bytes_lost)
        # The count last: a reader that sees it increased also sees the bytes.
        self._buffer.get_and_add_i64(handle + wire.LOSS_OBSERVATION_COUNT_OFFSET, observations)

    def _put_text(self, offset: int, text: bytes) -> None:
        self._buffer.put_i32(offset, len(text))
        self._buffer.put_bytes(offset + _INT_LENGTH, text)


def read_loss_report(buffer: AtomicBuffer) -> Iterator[LossEntry]:
    """Return the entries, oldest first.

    Raises ProtocolError at an entry that does not end within the buffer, after returning all entries before it.
    """
    offset = 0
    while offset + wire.LOSS_CHANNEL_OFFSET <= buffer.capacity:
        observation_count = buffer.get_i64_acquire(offset + wire.LOSS_OBSERVATION_COUNT_OFFSET)
        if observation_count <= 0:
            return
        channel = _read_text(buffer, offset + wire.LOSS_CHANNEL_OFFSET)
        source_offset = offset + _source_offset(len(channel))
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
        length = source_offset - offset + _INT_LENGTH + len(source)
        offset += _align(length, wire.LOSS_ENTRY_ALIGNMENT)


_INT_LENGTH: Final = 4


def _read_text(buffer: AtomicBuffer, offset: int) -> bytes:
    """Return the text whose length is stored at `offset`."""
    start = offset + _INT_LENGTH
    length = buffer.get_i32(offset) if start <= buffer.capacity else -1
    if not 0 <= length <= buffer.capacity - start:
        raise ProtocolError(
            f"text of {length} bytes at {offset} of the loss report: does not end within its "
            f"{buffer.capacity} bytes"
        )
    return buffer.get_bytes(start, length)


def _source_offset(channel_length: int) -> int:
    """Return the offset of the source within an entry."""
    return wire.LOSS_CHANNEL_OFFSET + _INT_LENGTH + _align(channel_length, _INT_LENGTH)


def _align(length: int, alignment: int) -> int:
    return (length + alignment - 1) & -alignment
