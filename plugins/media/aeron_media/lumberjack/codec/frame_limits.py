"""How much a writer may ask of a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aeron_core._native import wire

_MIB: Final = 1 << 20
_MAX_U32: Final = (1 << 32) - 1
#: Deflate packs 258 bytes into two bits at best: 1032 to 1 and a little less is the most that any stream has.
_MAX_DEFLATE_RATIO: Final = 1032


@dataclass(frozen=True)
class FrameLimits:
    """Bounds of what is parsed, in bytes where nothing else is said; each is a parameter of the channel URI.

    The defaults of `max_compressed_length`, `max_inflated_length` and `max_pairs` are those to which other readers
    were set when they were found to have none. `max_ratio` counts once a MiB has come out: 1000 is reached only by
    long runs of one byte, which no event needs, where equal events of 16 KiB still come to 800; what a stream of a
    lower ratio may cost is bounded by the other limits, and in memory by the length of one event. `max_frame_length`
    is that of a whole J or D frame: no parser asks for more bytes in one piece.
    """

    max_event_length: int = wire.MAX_MESSAGE_LENGTH
    max_frame_length: int = wire.MAX_MESSAGE_LENGTH
    max_compressed_length: int = 16 * _MIB
    max_inflated_length: int = 100 * _MIB
    max_ratio: int = 1000
    max_nesting: int = 1
    max_pairs: int = 1024

    def __post_init__(self) -> None:
        for name, lowest, highest in (
            ("max_event_length", 2, (1 << 31) - 1),
            ("max_frame_length", 2, (1 << 31) - 1),
            ("max_compressed_length", 8, _MAX_U32),
            ("max_inflated_length", 8, 1 << 40),
            ("max_ratio", 1, _MAX_DEFLATE_RATIO),
            ("max_nesting", 0, 4),
            ("max_pairs", 0, _MAX_U32),
        ):
            value = getattr(self, name)
            if not lowest <= value <= highest:
                raise ValueError(f"{name}={value}: must be from {lowest} to {highest}")
