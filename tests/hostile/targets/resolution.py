"""Resolution frames: names and addresses are decoded as they are encoded, or refused."""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames.resolution import ResolutionFrame
from targets._messages import datagrams
from targets._texts import check_text

RESOLUTION = 7


def seeds() -> list[bytes]:
    return [each for each in datagrams() if each[6] == RESOLUTION]


def check(data: bytes) -> bool:
    try:
        frame = ResolutionFrame.decode(AtomicBuffer(data), 0, len(data))
    except ProtocolError as error:
        check_text(error)
        return False
    # Of each entry, the encoder needs no more bytes than the decoder was given.
    buffer = AtomicBuffer.allocate(len(data) + 8)
    length = frame.encode(buffer, 0)
    assert ResolutionFrame.decode(buffer, 0, length) == frame
    return True
