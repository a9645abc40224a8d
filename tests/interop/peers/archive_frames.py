"""Frames in the segment files of an Aeron Archive: their checksums, and damage."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_HEADER_LENGTH, _TYPE_OFFSET, _SESSION_ID_OFFSET = 32, 6, 12
_PADDING = 0
_CASTAGNOLI = 0x82F63B78


def frames_of(file: Path) -> Iterator[tuple[int, int, int]]:
    """Yield begin, aligned end and type of each frame of a file up to the zeros, or to padding."""
    data, at = file.read_bytes(), 0
    while at < len(data) and (length := struct.unpack_from("<i", data, at)[0]):
        kind = struct.unpack_from("<H", data, at + _TYPE_OFFSET)[0]
        end = at + (length + 31) // 32 * 32
        yield at, end, kind
        at = end


def store_checksums(folder: Path, kind: str) -> None:
    """Store checksums in all data frames, as an Archive does that was started with them."""
    compute = zlib.crc32 if kind == "crc32" else crc32c
    for file in folder.glob("*.rec"):
        data = bytearray(file.read_bytes())
        for at, end, frame_type in frames_of(file):
            if frame_type != _PADDING:
                value = compute(data[at + _HEADER_LENGTH : end])
                struct.pack_into("<I", data, at + _SESSION_ID_OFFSET, value)
        file.write_bytes(data)


def flip_bit(folder: Path, name: str, number: int) -> int:
    """Flip a bit in the payload of the frame with this number or the next that has one; return its offset."""
    file = folder / name
    data = bytearray(file.read_bytes())
    frames = [
        (at, end) for at, end, kind in frames_of(file) if kind != _PADDING and end - at > _HEADER_LENGTH
    ]
    at, _ = frames[number]
    data[at + _HEADER_LENGTH + 3] ^= 0x10
    file.write_bytes(data)
    return at


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, byte by byte."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _by_bits(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_CASTAGNOLI if value & 1 else 0)
    return value


_TABLE = [_by_bits(value) for value in range(256)]
