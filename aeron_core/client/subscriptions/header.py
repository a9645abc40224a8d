"""Header of a fragment: its session, its position in the stream, its reserved value.

Invariant: a poll reuses one header for all fragments, so it is valid during the call of the handler only; `copy`
returns one that stays valid.
"""

from __future__ import annotations

from typing import Protocol

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer


class ImageSubscription(Protocol):
    """The part of a subscription that its images use."""

    @property
    def channel(self) -> str:
        """The channel, as it was added."""

    @property
    def stream_id(self) -> int:
        """The stream within the channel."""

    @property
    def registration_id(self) -> int:
        """The id of the subscription in the driver."""

    def reject_image(self, image: FragmentImage, reason: str) -> None:
        """Reject one of its images; see `Image.reject`."""


class FragmentImage(Protocol):
    """The image of a fragment."""

    @property
    def session_id(self) -> int:
        """The session of its publication."""

    @property
    def correlation_id(self) -> int:
        """The id of the image in the driver."""

    @property
    def position(self) -> int:
        """The stream position in bytes up to which the subscription has read."""

    @property
    def source_identity(self) -> str:
        """Address and port of the sender, or `aeron:ipc`."""

    @property
    def subscription(self) -> ImageSubscription | None:
        """The subscription that it belongs to, None if it was created without one."""

    def reject(self, reason: str) -> None:
        """Reject the publication; see `Image.reject`."""


class Header:
    """The header of a fragment, or of a reassembled message."""

    def __init__(self, log: LogBuffer, image: FragmentImage | None) -> None:
        self.image = image
        self._log = log
        self._buffer = log.buffer
        self._offset = 0
        self._span = 0

    @property
    def position(self) -> int:
        """The position of the stream after this fragment or message, in bytes, a multiple of 32."""
        return self.position_of()

    @property
    def position_bits_to_shift(self) -> int:
        """The shift that turns a term count into a position: log2 of the term length."""
        return self._log.position_bits_to_shift

    @property
    def initial_term_id(self) -> int:
        """The term id at which the stream began."""
        return self._log.initial_term_id

    @property
    def frame_length(self) -> int:
        """Length of the frame in bytes with its header; of a reassembled message as if it was one frame."""
        return self._buffer.get_i32(self._offset + wire.FRAME_LENGTH_OFFSET)

    @property
    def flags(self) -> int:
        """The flags: 0x80 begins a message, 0x40 ends one."""
        return self._buffer.get_u8(self._offset + wire.FRAME_FLAGS_OFFSET)

    @property
    def type(self) -> int:
        """The type of the frame, 16 bits: 1 for data."""
        return self._buffer.get_u16(self._offset + wire.FRAME_TYPE_OFFSET)

    @property
    def term_offset(self) -> int:
        """The offset of the frame in its term, in bytes."""
        return self._buffer.get_i32(self._offset + wire.DATA_TERM_OFFSET_OFFSET)

    @property
    def session_id(self) -> int:
        """The session of the publication that sent the fragment."""
        return self._buffer.get_i32(self._offset + wire.DATA_SESSION_ID_OFFSET)

    @property
    def stream_id(self) -> int:
        """The stream within the channel."""
        return self._buffer.get_i32(self._offset + wire.DATA_STREAM_ID_OFFSET)

    @property
    def term_id(self) -> int:
        """The term in which the frame begins."""
        return self._buffer.get_i32(self._offset + wire.DATA_TERM_ID_OFFSET)

    @property
    def reserved_value(self) -> int:
        """An int64 for the application, or a timestamp if the channel enables one."""
        return self._buffer.get_i64(self._offset + wire.DATA_RESERVED_VALUE_OFFSET)

    def copy(self) -> Header:
        """Return a copy that stays valid after the handler has returned."""
        header = Header(self._log, self.image)
        header._buffer = AtomicBuffer.allocate(wire.DATA_HEADER_LENGTH)
        header._buffer.copy_from(0, self._buffer, self._offset, wire.DATA_HEADER_LENGTH)
        header._span = self._span
        return header

    def __repr__(self) -> str:
        return (
            f"Header(session_id={self.session_id}, stream_id={self.stream_id}, term_id={self.term_id}, "
            f"term_offset={self.term_offset}, frame_length={self.frame_length}, flags={self.flags:#x})"
        )

    def move_to(self, offset: int) -> None:
        """Point the header to the frame at `offset` bytes in the log buffer. For images."""
        self._offset = offset

    def span(self) -> int:
        """Return the bytes of the stream that the fragment or message occupies: all its frames, aligned to 32."""
        if self._span > 0:
            return self._span
        return positions.align_frame(self._buffer.get_i32(self._offset + wire.FRAME_LENGTH_OFFSET))

    def position_of(self) -> int:
        """Return the position after the fragment or message; for compiled callers."""
        return self.position_before() + self.span()

    def position_before(self) -> int:
        """Return the position at which the frame begins; for compiled callers."""
        return positions.compute_position(
            self._buffer.get_i32(self._offset + wire.DATA_TERM_ID_OFFSET),
            self._buffer.get_i32(self._offset + wire.DATA_TERM_OFFSET_OFFSET),
            self._log.position_bits_to_shift,
            self._log.initial_term_id,
        )

    def complete(self, length: int, span: int) -> int:
        """Turn a copy into the header of a message of `length` payload bytes in `span` bytes of frames; return 0."""
        self._buffer.put_i32(self._offset + wire.FRAME_LENGTH_OFFSET, length + wire.DATA_HEADER_LENGTH)
        self._buffer.put_u8(
            self._offset + wire.FRAME_FLAGS_OFFSET,
            self._buffer.get_u8(self._offset + wire.FRAME_FLAGS_OFFSET) | wire.DATA_FLAGS_UNFRAGMENTED,
        )
        self._span = span
        return 0
