"""Messages for the error log about rejected datagrams."""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire

# Without values of the packet: with them, a peer could make each bad packet a new entry of the error log.
_TEXTS: Final = {
    wire.FRAME_TOO_SHORT: "packet is shorter than its frame type needs",
    wire.FRAME_BAD_VERSION: f"frame version is not {wire.FRAME_VERSION}, or the channel of the sender has security=",
    wire.FRAME_BAD_LENGTH: "frame length is too short, beyond the packet or its term, or not aligned",
    wire.FRAME_BAD_TYPE: "frame type is not known",
    wire.FRAME_BAD_FIELD: "a field of the frame is out of its range",
}
_REMEDY: Final = "the packet was dropped: check that its sender is an Aeron driver"


def describe_fault(reason: int, _value: int, _limit: int) -> tuple[str, str]:
    """Return the message for a negative `wire.FRAME_...` code, and an empty detail."""
    return f"{_TEXTS[reason]}; {_REMEDY}", ""
