# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""ERR: a receiver rejects a stream and sends the reason.

Invariant: the text is copied out of the packet and outlives the packet's buffer. An invalid frame has an empty text.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class ErrorFrame(Frame):
    """A frame from receiver to sender, instead of status messages, while an image is rejected."""

    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int
    error_code: int
    error_length: int
    text_length: int

    def __init__(self, **values: int) -> None:
        """Set the named fields; all others are zero, and the text is empty. Raises TypeError for an unknown field."""
        super().__init__(**values)
        self.text_length = 0
        self._text = AtomicBuffer.allocate(wire.ERR_MAX_TEXT_LENGTH)

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return (
            "frame_length",
            "flags",
            "session_id",
            "stream_id",
            "receiver_id",
            "group_tag",
            "error_code",
            "error_length",
        )

    @property
    def text(self) -> str:
        """The reason; bytes that are not UTF-8 are replaced. Setting one of more than 1023 bytes raises ValueError."""
        return self._text.get_bytes(0, self.text_length).decode("utf-8", "replace")

    @text.setter
    def text(self, reason: str) -> None:
        # A reason from a client keeps bytes that are not UTF-8 as surrogates: they are sent as they were received.
        encoded = reason.encode("utf-8", "surrogateescape")
        if len(encoded) > wire.ERR_MAX_TEXT_LENGTH:
            raise ValueError(
                f"text of {len(encoded)} bytes: must be at most {wire.ERR_MAX_TEXT_LENGTH}; shorten the reason"
            )
        self.error_length = self.text_length = self._text.put_bytes(0, encoded)

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_ERR)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.ERR_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.ERR_STREAM_ID_OFFSET)
        self.receiver_id = buffer.get_i64(offset + wire.ERR_RECEIVER_ID_OFFSET)
        # Unlike in a status message, the field is always present; ERR_FLAG_HAS_GROUP_TAG states whether it is set.
        self.group_tag = buffer.get_i64(offset + wire.ERR_GROUP_TAG_OFFSET)
        self.error_code = buffer.get_i32(offset + wire.ERR_ERROR_CODE_OFFSET)
        self.error_length = buffer.get_i32(offset + wire.ERR_ERROR_LENGTH_OFFSET)
        # A frame with a text that is incomplete or too long is accepted, with an empty text; callers check `is_valid`.
        self.text_length = self.error_length if self.is_valid() else 0
        _copy(self._text, 0, buffer, offset + wire.ERR_TEXT_OFFSET, self.text_length)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame and its text at `offset` and return the length of both in bytes."""
        buffer.put_i32(offset + wire.ERR_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.ERR_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i64(offset + wire.ERR_RECEIVER_ID_OFFSET, self.receiver_id)
        buffer.put_i64(offset + wire.ERR_GROUP_TAG_OFFSET, self.group_tag)
        buffer.put_i32(offset + wire.ERR_ERROR_CODE_OFFSET, self.error_code)
        # `error_length` of an invalid frame that was decoded is not the length of the text that was kept.
        buffer.put_i32(offset + wire.ERR_ERROR_LENGTH_OFFSET, self.text_length)
        _copy(buffer, offset + wire.ERR_TEXT_OFFSET, self._text, 0, self.text_length)
        frame_length = wire.ERR_HEADER_LENGTH + self.text_length
        return put_header(buffer, offset, frame_length, self.flags, wire.TYPE_ERR)

    def is_valid(self) -> bool:
        """Return whether the frame contains all of its text, at most ERR_MAX_TEXT_LENGTH bytes.

        Source: aeron_send_channel_endpoint.c, aeron_send_channel_endpoint_is_valid_error.
        """
        return (
            # The peer chose the length: the bound comes first, so that the sum below cannot overflow.
            0 <= self.error_length <= wire.ERR_MAX_TEXT_LENGTH
            and self.error_length + wire.ERR_HEADER_LENGTH <= self.frame_length
        )


def _copy(
    target: AtomicBuffer, target_offset: int, source: AtomicBuffer, source_offset: int, length: int
) -> int:
    # Byte by byte: at most 1023 bytes, and the frame is rare.
    for index in range(length):
        target.put_u8(target_offset + index, source.get_u8(source_offset + index))
    return length
