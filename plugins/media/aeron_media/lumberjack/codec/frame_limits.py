"""Limits of the frames that a reader accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aeron_core._native import wire

_MIB: Final = 1 << 20
_MAX_U32: Final = (1 << 32) - 1
#: Deflate encodes at most 258 bytes in two bits: no stream exceeds a ratio of 1032 to 1.
_MAX_DEFLATE_RATIO: Final = 1032


@dataclass(frozen=True)
class FrameLimits:
    """Limits of the parser, each set by a parameter of the channel URI; raises ValueError for a value out of range.

    Lengths are bytes. `max_event_length` applies to the payload of a J frame and to the JSON of a D frame,
    `max_frame_length` to a whole J or D frame: no parser needs more bytes in one piece. `max_ratio` (inflated to
    compressed bytes) applies once more than 1 MiB has been inflated: only long runs of one byte reach 1000, whereas
    equal events of 16 KiB reach 800; the other limits bound the cost of a stream with a lower ratio. `max_nesting` is
    the number of C frames around a frame, `max_pairs` the number of pairs in a D frame.

    Sources of the defaults: Graylog (16 MiB, 1024 pairs), Vector (100 MiB inflated); the others are invented.
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
                unit = " bytes" if name.endswith("_length") else ""
                raise ValueError(f"{name}={value}: must be from {lowest} to {highest}{unit}")
