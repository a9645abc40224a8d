"""Parameters of the window encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aeron_core._native import wire

_MIB: Final = 1 << 20


@dataclass(frozen=True)
class EncoderParams:
    """Parameters of a window encoder; raises ValueError for a value out of range.

    The first two are set by the channel URI: `compression`, 0 for plain frames, else a level up to 9 (3 is the default
    of Beats), and `is_wrapping` (`wrap=`): each message becomes a value in a JSON object. `max_window_length`: bytes of
    the J frames of a window before compression, which only a window of a single event exceeds; 8 MiB, invented, keeps a
    C frame below the limit of 16 MiB of some readers. `max_event_length`: bytes of the payload of a J frame.
    """

    compression: int = 3
    is_wrapping: bool = False
    max_window_length: int = 8 * _MIB
    max_event_length: int = wire.MAX_MESSAGE_LENGTH

    def __post_init__(self) -> None:
        for name, lowest, highest in (
            ("compression", 0, 9),
            ("max_window_length", 1, 1 << 30),
            ("max_event_length", 2, 1 << 30),
        ):
            value = getattr(self, name)
            if not lowest <= value <= highest:
                unit = " bytes" if name.endswith("_length") else ""
                raise ValueError(f"{name}={value}: must be from {lowest} to {highest}{unit}")
