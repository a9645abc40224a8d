# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""SM (status message): a receiver reports its consumption position and how many more bytes may be sent.

Invariant: `group_tag` is read only if exactly eight bytes follow the fixed fields. Old receivers send application
feedback of any length there.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class StatusMessage(Frame):
    """A frame from receiver to sender, by default every 200 ms and after each consumed quarter of the window.

    Its flags are `wire.SM_FLAG_…`.
    """

    session_id: int
    stream_id: int
    consumption_term_id: int
    consumption_term_offset: int
    receiver_window: int
    receiver_id: int
    has_group_tag: bool
    group_tag: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order, including derived ones."""
        return (
            "frame_length",
            "flags",
            "session_id",
            "stream_id",
            "consumption_term_id",
            "consumption_term_offset",
            "receiver_window",
            "receiver_id",
            "has_group_tag",
            "group_tag",
        )

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_SM)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        # SEND_SETUP requests a SETUP: the receiver has no image yet, and position and window are 0. EOS: the image is
        # draining: the stream ended or timed out, or no subscriber is left.
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.SM_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.SM_STREAM_ID_OFFSET)
        self.consumption_term_id = buffer.get_i32(offset + wire.SM_CONSUMPTION_TERM_ID_OFFSET)
        self.consumption_term_offset = buffer.get_i32(offset + wire.SM_CONSUMPTION_TERM_OFFSET_OFFSET)
        self.receiver_window = buffer.get_i32(offset + wire.SM_RECEIVER_WINDOW_OFFSET)
        # The offset is 28: the structs of the reference are packed to 4 bytes, so this int64 is not aligned to 8.
        self.receiver_id = buffer.get_i64(offset + wire.SM_RECEIVER_ID_OFFSET)
        self.has_group_tag = self.frame_length == wire.SM_TAGGED_HEADER_LENGTH
        self.group_tag = buffer.get_i64(offset + wire.SM_GROUP_TAG_OFFSET) if self.has_group_tag else 0
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset`, with its tag if it has one, and return its length, 36 or 44 bytes."""
        buffer.put_i32(offset + wire.SM_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.SM_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i32(offset + wire.SM_CONSUMPTION_TERM_ID_OFFSET, self.consumption_term_id)
        buffer.put_i32(offset + wire.SM_CONSUMPTION_TERM_OFFSET_OFFSET, self.consumption_term_offset)
        buffer.put_i32(offset + wire.SM_RECEIVER_WINDOW_OFFSET, self.receiver_window)
        buffer.put_i64(offset + wire.SM_RECEIVER_ID_OFFSET, self.receiver_id)
        if not self.has_group_tag:
            return put_header(buffer, offset, wire.SM_HEADER_LENGTH, self.flags, wire.TYPE_SM)
        buffer.put_i64(offset + wire.SM_GROUP_TAG_OFFSET, self.group_tag)
        return put_header(buffer, offset, wire.SM_TAGGED_HEADER_LENGTH, self.flags, wire.TYPE_SM)

    def is_valid(self, term_length: int) -> bool:
        """Return whether offset and window fit terms of `term_length` bytes (TERM_MAX_LENGTH if unknown).

        Source: aeron_send_channel_endpoint.c, aeron_send_channel_endpoint_is_valid_status_message.
        """
        return (
            0 <= self.consumption_term_offset < term_length
            and self.consumption_term_offset & (wire.FRAME_ALIGNMENT - 1) == 0
            # A window is at most half a term, the most that a receiver buffers beyond its position.
            and 0 <= self.receiver_window <= term_length >> 1
        )

    def position(self, initial_term_id: int, position_bits_to_shift: int) -> int:
        """Return the consumption position in bytes of the stream; negative for a term before the first.

        `position_bits_to_shift`: binary logarithm of the term length.
        """
        # Term ids wrap in 32 bits, and so does their distance; 64 bits, because C does not define signed overflow.
        half_range = 0x80000000
        term_count = self.consumption_term_id
        term_count -= initial_term_id
        term_count = ((term_count + half_range) & (2 * half_range - 1)) - half_range
        return term_count * (1 << position_bits_to_shift) + self.consumption_term_offset

    def is_near(self, sender_position: int, initial_term_id: int, position_bits_to_shift: int) -> bool:
        """Return whether the position is within half a term of `sender_position`; not meaningful with SEND_SETUP.

        Source: aeron_network_publication.c, aeron_network_publication_is_valid_status_message.
        """
        position = self.position(initial_term_id, position_bits_to_shift)
        # The largest window is half a term, so receiver and sender are at most that far apart, not counting padding.
        half_term_length = (1 << position_bits_to_shift) >> 1
        return sender_position - half_term_length <= position <= sender_position + half_term_length
