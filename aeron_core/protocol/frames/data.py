# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""DATA and PAD: messages of a stream, padding, and heartbeats.

Not here: how frames are put into a term (`aeron_core.logbuffer`) and which image a packet belongs to.
Invariant: a packet consists of whole frames of one term. A sender ends it after the header of a PAD: the body is not
sent.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, put_header, validate


class DataHeader(Frame):
    """The header of a DATA or PAD frame; the payload follows it. A heartbeat is DATA of length 0."""

    frame_type: int
    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return (
            "frame_length",
            "flags",
            "frame_type",
            "term_offset",
            "session_id",
            "stream_id",
            "term_id",
            "reserved_value",
        )

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the header at `offset`, `length` bytes before the end of the packet.

        Returns FRAME_ACCEPTED, or a negative `wire.FRAME_…`. Does not check the payload; see `validate_data_packet`.
        """
        result = validate(buffer, offset, length)
        if result < 0:
            return result
        if result not in (wire.TYPE_DATA, wire.TYPE_PAD):
            return wire.FRAME_BAD_TYPE
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        # BEGIN and END mark the first and last fragment of a message. EOS and REVOKED are set by the sender, in
        # heartbeats only: the stream ends at their position, normally or because the publication was revoked.
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.frame_type = result
        self.term_offset = buffer.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.DATA_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.DATA_STREAM_ID_OFFSET)
        # Term ids wrap in 32 bits: compare two of them by subtraction, never with `<`.
        self.term_id = buffer.get_i32(offset + wire.DATA_TERM_ID_OFFSET)
        self.reserved_value = buffer.get_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the header at `offset` and return its length, 32 bytes, whatever `frame_length` is."""
        put_header(buffer, offset, self.frame_length, self.flags, self.frame_type)
        buffer.put_i32(offset + wire.DATA_TERM_OFFSET_OFFSET, self.term_offset)
        buffer.put_i32(offset + wire.DATA_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.DATA_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i32(offset + wire.DATA_TERM_ID_OFFSET, self.term_id)
        buffer.put_i64(offset + wire.DATA_RESERVED_VALUE_OFFSET, self.reserved_value)
        return wire.DATA_HEADER_LENGTH


def is_heartbeat(buffer: AtomicBuffer, offset: int, length: int) -> bool:
    """Return whether a packet of `length` bytes is a heartbeat: it announces the sender's position without data."""
    # Both conditions are needed: a frame of length 0 inside a longer packet is invalid, not a heartbeat.
    return length == wire.DATA_HEADER_LENGTH and buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET) == 0


def validate_data_packet(
    buffer: AtomicBuffer, offset: int, length: int, term_offset: int, term_length: int
) -> int:
    """Return how many bytes of the term the packet at `term_offset` fills, or a negative `wire.FRAME_…`.

    0 for a heartbeat; a final PAD counts in full, though only its header was sent. The caller has validated the packet
    (`validate`) and that its term is not before the first.
    Source: aeron_publication_image.c, aeron_publication_image_validate_packet. Unlike it, rejects a frame shorter than
    its header, which no reader could skip.
    """
    # Frames start at multiples of 32: a reader finds the next one by rounding up the length of the one before.
    if term_offset < 0 or term_offset >= term_length or term_offset & (wire.FRAME_ALIGNMENT - 1):
        return wire.FRAME_BAD_FIELD
    if length < wire.DATA_HEADER_LENGTH:
        return wire.FRAME_TOO_SHORT
    if is_heartbeat(buffer, offset, length):
        return 0
    last = 0
    end = 0
    # A header is read only if the packet has all of its 32 bytes.
    while end <= length - wire.DATA_HEADER_LENGTH:
        last = end
        aligned_length = _aligned_length(buffer, offset + last, term_offset + last, term_length)
        if aligned_length < 0:
            return aligned_length
        end += aligned_length
    # Only padding may be longer than the packet: its body is not sent.
    if end == length or (end > length and _frame_type(buffer, offset + last) == wire.TYPE_PAD):
        return end
    return wire.FRAME_BAD_LENGTH


def _frame_type(buffer: AtomicBuffer, offset: int) -> int:
    return buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET)


def _aligned_length(buffer: AtomicBuffer, offset: int, term_offset: int, term_length: int) -> int:
    frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
    # The peer chose the length: compare it before aligning and adding, so that nothing overflows.
    if frame_length < wire.DATA_HEADER_LENGTH or frame_length > term_length - term_offset:
        return wire.FRAME_BAD_LENGTH
    if _frame_type(buffer, offset) not in (wire.TYPE_DATA, wire.TYPE_PAD):
        return wire.FRAME_BAD_TYPE
    if buffer.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET) != term_offset:
        return wire.FRAME_BAD_FIELD
    # Offset and term are multiples of the alignment, so the aligned length fits if the length does.
    return (frame_length + wire.FRAME_ALIGNMENT - 1) & -wire.FRAME_ALIGNMENT
