"""Frames as bytes, for tests that play the peer."""

from __future__ import annotations

from typing import Protocol

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.data import DataHeader

_ALIGNMENT = wire.FRAME_ALIGNMENT


class Encodable(Protocol):
    """A frame of any type."""

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length."""


def encode_frame(frame: Encodable) -> bytes:
    """Return the bytes that `frame` encodes itself to."""
    buffer = AtomicBuffer.allocate(wire.ERR_HEADER_LENGTH + wire.ERR_MAX_TEXT_LENGTH)
    return buffer.get_bytes(0, frame.encode(buffer, 0))


def data_frame(payload: bytes = b"", **fields: int) -> bytes:
    """Return a whole, aligned DATA frame with `payload`; `fields` are those of its header."""
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
