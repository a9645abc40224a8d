"""Checksum of a part of a recording: CRC-32 of its frames; of padding, only the header counts."""

from __future__ import annotations

import zlib

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import CorruptRecordingError
from aeron_core.recording.storage.frame_scanner import FrameScanner


def check_sum(scanner: FrameScanner, data: AtomicBuffer, begin: int, length: int, position: int) -> int:
    """Return the checksum of `length` bytes at `begin`, with the first frame at `position`.

    Raises CorruptRecordingError unless they are whole frames.
    """
    crc32 = 0
    with memoryview(data) as view:
        while length > 0:
            scanned = scanner.scan(data, begin, length, position)
            if scanned != length:
                raise CorruptRecordingError(
                    f"position {position + scanned}: {scanner.fault_text()}: must be whole frames"
                )
            if scanner.padding_offset < 0:
                return zlib.crc32(view[begin : begin + length], crc32)
            padding = scanner.padding_offset
            crc32 = zlib.crc32(view[begin : begin + padding + wire.DATA_HEADER_LENGTH], crc32)
            step = padding + positions.align_frame(data.get_i32(begin + padding))
            begin, position, length = begin + step, position + step, length - step
    return crc32
