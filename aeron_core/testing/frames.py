"""Frames as bytes, for tests that act as a peer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.header import Frame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage

_ALIGNMENT = wire.FRAME_ALIGNMENT
_TYPES: dict[int, type[Frame]] = {
    wire.TYPE_DATA: DataHeader,
    wire.TYPE_PAD: DataHeader,
    wire.TYPE_NAK: Nak,
    wire.TYPE_SM: StatusMessage,
    wire.TYPE_ERR: ErrorFrame,
    wire.TYPE_SETUP: Setup,
    wire.TYPE_RTTM: Rttm,
    wire.TYPE_RSP_SETUP: ResponseSetup,
}
F = TypeVar("F", bound=Frame)


class Encodable(Protocol):
    """A frame of any type that can be encoded."""

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` of `buffer` and return its length in bytes."""


def encode_frame(frame: Encodable) -> bytes:
    """Return the encoded bytes of `frame`."""
    buffer = AtomicBuffer.allocate(wire.ERR_HEADER_LENGTH + wire.ERR_MAX_TEXT_LENGTH)
    return buffer.get_bytes(0, frame.encode(buffer, 0))


def data_frame(payload: bytes = b"", **fields: int) -> bytes:
    """Return a DATA frame with `payload`, padded to a multiple of 32 bytes; `fields` override header fields.

    By default it is unfragmented, of session 7 and stream 1001.
    """
    length = wire.DATA_HEADER_LENGTH + len(payload)
    preset = {
        "frame_length": length,
        "flags": wire.DATA_FLAGS_UNFRAGMENTED,
        "frame_type": wire.TYPE_DATA,
        "session_id": 7,
        "stream_id": 1001,
    }
    header = encode_frame(DataHeader(**preset | fields))
    return header + payload + bytes(-length % _ALIGNMENT)


def decode_frame(data: bytes) -> Frame:
    """Return the first frame of a datagram; raise KeyError for a type that does not belong to a stream.

    The fields of a malformed frame stay zero. Raises IndexError for a datagram of less than 8 bytes.
    """
    buffer = AtomicBuffer(data)
    frame: Any = _TYPES[buffer.get_u16(wire.FRAME_TYPE_OFFSET)]()
    frame.decode(buffer, 0, len(data))
    decoded: Frame = frame
    return decoded


def frames_of(kind: type[F], datagrams: Iterable[bytes]) -> list[F]:
    """Return the first frame of each datagram that begins with a frame of `kind`; raise as `decode_frame`."""
    frames = (decode_frame(data) for data in datagrams)
    return [frame for frame in frames if isinstance(frame, kind)]
