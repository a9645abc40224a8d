"""Text of datagrams for the event log; the bytes may come from any program. Any thread may call the functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage


class _Frame(Protocol):
    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int: ...

    def names(self) -> tuple[str, ...]: ...


_KINDS: Final[dict[int, tuple[str, Callable[[], _Frame]]]] = {
    wire.TYPE_PAD: ("PAD", DataHeader),
    wire.TYPE_DATA: ("DATA", DataHeader),
    wire.TYPE_NAK: ("NAK", Nak),
    wire.TYPE_SM: ("SM", StatusMessage),
    wire.TYPE_ERR: ("ERR", ErrorFrame),
    wire.TYPE_SETUP: ("SETUP", Setup),
    wire.TYPE_RTTM: ("RTT", Rttm),
    wire.TYPE_RSP_SETUP: ("RSP_SETUP", ResponseSetup),
}


def _type_of(datagram: bytes) -> int:
    # All fields of a frame are little-endian on the wire, independent of the host.
    at = wire.FRAME_TYPE_OFFSET
    return int.from_bytes(datagram[at : at + 2], "little")


def is_nak(datagram: bytes) -> bool:
    """Return whether the first frame of a datagram is a NAK, a retransmission request."""
    return _type_of(datagram) == wire.TYPE_NAK


def describe_frame(datagram: bytes) -> str:
    """Return type and fields of the first frame of a datagram, or the datagram's length if it cannot be decoded."""
    kind = _KINDS.get(_type_of(datagram))
    if kind is None:
        return f"unknown frame of {len(datagram)} bytes"
    # A new frame for each call: several threads may describe frames at the same time.
    name, frame_class = kind
    frame = frame_class()
    # The log shows datagrams before any check: these bytes may come from any program.
    if frame.decode(AtomicBuffer(datagram), 0, len(datagram)) < 0:
        return f"{name} unreadable, {len(datagram)} bytes"
    return " ".join((name, *(f"{field}={getattr(frame, field)}" for field in frame.names())))
