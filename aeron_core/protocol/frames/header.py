# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""The eight-byte header common to all frames, and the check that a packet may be decoded.

Not here: the meaning of a frame and the ranges of its fields (`is_valid` of each frame).
Invariant: no bytes from a peer make a codec raise: it returns a negative `wire.FRAME_…`. An exception means that the
caller's range does not lie within the buffer. Resolution frames are an exception: their codec raises ProtocolError.

https://github.com/aeron-io/aeron/wiki/Transport-Protocol-Specification
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer


class Frame:
    """Base of all frames; an object is reused for decoding, so that nothing is allocated."""

    frame_length: int
    flags: int

    def __init__(self, **values: int) -> None:
        """Set the named fields; all others are zero. Raises TypeError for an unknown field."""
        for name in self.names():
            setattr(self, name, values.pop(name, 0))
        if values:
            raise TypeError(
                f"{type(self).__name__} has no field {', '.join(values)}: must be one of {', '.join(self.names())}"
            )

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order, including derived ones."""
        return ("frame_length", "flags")

    def fields(self) -> dict[str, int]:
        """Return the fields by name, for printing and comparing; codecs use the attributes."""
        return {name: getattr(self, name) for name in self.names()}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.fields().items())
        return f"{type(self).__name__}({fields})"


class FrameHeader(Frame):
    """The common header alone, of a frame of any type, known or not."""

    version: int
    frame_type: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return ("frame_length", "version", "flags", "frame_type")

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the header at `offset`, `length` bytes before the end of the packet; check nothing but this length.

        Returns FRAME_ACCEPTED or FRAME_TOO_SHORT.
        """
        if length < wire.FRAME_HEADER_LENGTH:
            return wire.FRAME_TOO_SHORT
        # Integers on the wire are little-endian. A frame length includes the header.
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        self.version = buffer.get_u8(offset + wire.FRAME_VERSION_OFFSET)
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        # Unsigned here; the reference declares a signed int16, so EXT is -1 there and 0xFFFF here.
        self.frame_type = buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the header, with the `version` of this object, at `offset` and return its length, 8 bytes."""
        put_header(buffer, offset, self.frame_length, self.flags, self.frame_type)
        buffer.put_u8(offset + wire.FRAME_VERSION_OFFSET, self.version)
        return wire.FRAME_HEADER_LENGTH


def minimum_length(frame_type: int) -> int:
    """Return the minimum length in bytes of a packet of this type, 0 if it is unknown or not implemented here."""
    # Called for each packet, so the frequent types come first.
    if frame_type in (wire.TYPE_DATA, wire.TYPE_PAD):
        return wire.DATA_HEADER_LENGTH
    if frame_type == wire.TYPE_SM:
        return wire.SM_HEADER_LENGTH
    if frame_type == wire.TYPE_NAK:
        return wire.NAK_HEADER_LENGTH
    if frame_type == wire.TYPE_SETUP:
        return wire.SETUP_HEADER_LENGTH
    return _minimum_length_of_rare(frame_type)


def _minimum_length_of_rare(frame_type: int) -> int:
    if frame_type == wire.TYPE_RTTM:
        return wire.RTTM_HEADER_LENGTH
    if frame_type == wire.TYPE_ERR:
        return wire.ERR_HEADER_LENGTH
    if frame_type == wire.TYPE_RSP_SETUP:
        return wire.RSP_SETUP_HEADER_LENGTH
    if frame_type == wire.TYPE_RES:
        return wire.RES_MIN_LENGTH
    # ATS_… belong to an encrypted transport that is not implemented here, EXT is reserved: all are rejected.
    return 0


def validate(buffer: AtomicBuffer, offset: int, length: int) -> int:
    """Return the type of the packet of `length` bytes at `offset`, or a negative `wire.FRAME_…`.

    Of a data packet, which is whole aligned frames, only the length is checked; see `validate_data_packet`.
    Source: aeron_udp_protocol.h, aeron_is_frame_valid.
    """
    if length < wire.FRAME_HEADER_LENGTH:
        return wire.FRAME_TOO_SHORT
    # Another version may have another layout: nothing else of the packet is interpreted.
    if buffer.get_u8(offset + wire.FRAME_VERSION_OFFSET) != wire.FRAME_VERSION:
        return wire.FRAME_BAD_VERSION
    frame_type = buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET)
    shortest = minimum_length(frame_type)
    if shortest == 0:
        return wire.FRAME_BAD_TYPE
    if length < shortest:
        return wire.FRAME_TOO_SHORT
    frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
    if frame_type in (wire.TYPE_DATA, wire.TYPE_PAD):
        # The length in the first header does not bound the packet: it is 0 in a heartbeat, and that of padding counts
        # bytes that are not sent.
        fits = length & (wire.FRAME_ALIGNMENT - 1) == 0
    else:
        fits = frame_length <= length
    # Negative lengths exist only in a log, where they mark a frame that is being written.
    return frame_type if fits and frame_length >= 0 else wire.FRAME_BAD_LENGTH


def expect(buffer: AtomicBuffer, offset: int, length: int, frame_type: int) -> int:
    """Return `wire.FRAME_ACCEPTED` for a valid packet of this type, otherwise a negative `wire.FRAME_…`."""
    result = validate(buffer, offset, length)
    if result < 0:
        return result
    return wire.FRAME_ACCEPTED if result == frame_type else wire.FRAME_BAD_TYPE


def put_header(buffer: AtomicBuffer, offset: int, frame_length: int, flags: int, frame_type: int) -> int:
    """Write the common header with the current version at `offset` and return `frame_length`, in bytes."""
    # Plain stores in any order: no other thread reads a packet while it is encoded. Frames of a log, which are read
    # concurrently, are written by `_native.frames` and `logbuffer` instead, with the length last.
    buffer.put_i32(offset + wire.FRAME_LENGTH_OFFSET, frame_length)
    buffer.put_u8(offset + wire.FRAME_VERSION_OFFSET, wire.FRAME_VERSION)
    buffer.put_u8(offset + wire.FRAME_FLAGS_OFFSET, flags)
    buffer.put_u16(offset + wire.FRAME_TYPE_OFFSET, frame_type)
    return frame_length
