"""Checksum of a part of a recording: CRC-32 of its frames; of padding, only the header counts.

Not here: whether the frames are valid (frame_scanner). Invariant: a damaged frame length causes no read beyond the
buffer.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording._native import sums


def check_sum(data: AtomicBuffer, begin: int, length: int) -> int:
    """Return the CRC-32, an unsigned 32-bit number, of `length` bytes at offset `begin`, at which a frame begins.

    Of padding, only the header counts; from the first frame length below 32 on, all bytes count. Raises IndexError for
    a range beyond the buffer.
    """
    data.check(begin, length)
    value = 0
    summed = 0
    scanned = 0
    while scanned + wire.DATA_HEADER_LENGTH <= length:
        frame_length = data.get_i32(begin + scanned)
        if frame_length < wire.DATA_HEADER_LENGTH:
            break  # not a frame: all bytes that follow count
        frame_type = data.get_u16(begin + scanned + wire.FRAME_TYPE_OFFSET)
        if frame_type == wire.TYPE_PAD:
            value = sums.crc32(data, begin + summed, scanned + wire.DATA_HEADER_LENGTH - summed, value)
        scanned += positions.align_frame(frame_length)
        if frame_type == wire.TYPE_PAD:
            summed = scanned
    if summed < length:
        value = sums.crc32(data, begin + summed, length - summed, value)
    return value


def first_wrong(  # noqa: PLR0913 - called without the GIL: no params object
    entries: AtomicBuffer, first: int, last: int, data: AtomicBuffer, begin: int, position: int
) -> int:
    """Return the number of the first entry from `first` on, before `last`, with a wrong checksum; -1 if none.

    `entries`: entries of an index file, 24 bytes each (module index). The piece that entry `first` covers begins at
    offset `begin` of the data and at `position` of the recording; the pieces of the other entries follow it. Raises
    IndexError for an entry beyond `entries` or a piece beyond `data`.
    """
    entry = first
    while entry < last:
        at = entry * sums.ENTRY_LENGTH
        end = entries.get_i64(at + sums.ENTRY_END_POSITION_OFFSET)
        crc32 = entries.get_i32(at + sums.ENTRY_CRC32_OFFSET)  # unsigned, by the type of the variable
        # A piece without padding, the usual case, is summed whole: no frame has to be parsed.
        is_right = sums.crc32(data, begin, end - position, 0) == crc32
        if not is_right and check_sum(data, begin, end - position) != crc32:
            return entry
        begin += end - position
        position = end
        entry += 1
    return -1
