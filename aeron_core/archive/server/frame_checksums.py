"""Checksums of the frames of a recording: CRC-32 or CRC-32C of what follows a header, in place of the session id.

Nothing in the files tells whether they have some. Padding has none: its body is not stored. A frame costs about a
microsecond, so that an archive without checksums copies blocks as they are.

Source: RecordingWriter.computeChecksum, ReplaySession.verifyChecksum; Crc32.java and Crc32c.java of Agrona.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording._native import sums
from aeron_core.recording.storage.archive import FrameChecksum

_I32: Final = struct.Struct("<i")
_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")


def stamped(block: memoryview, kind: FrameChecksum) -> memoryview:
    """Return a copy of a block of whole frames with checksums; a block of padding stays as it is."""
    if _is_padding(block, 0):
        return block
    copy = memoryview(bytearray(block))
    checksum = _function(copy, kind)
    for at, end in _frames(copy):
        _U32.pack_into(copy, at + wire.DATA_SESSION_ID_OFFSET, checksum(at + wire.DATA_HEADER_LENGTH, end))
    return copy


def first_mismatch(block: memoryview, kind: FrameChecksum) -> int | None:
    """Return the offset of the first data frame whose checksum is wrong, None if there is none."""
    checksum = _function(block, kind)
    for at, end in _frames(block):
        found: int = _U32.unpack_from(block, at + wire.DATA_SESSION_ID_OFFSET)[0]
        if not _is_padding(block, at) and found != checksum(at + wire.DATA_HEADER_LENGTH, end):
            return at
    return None


def _function(block: memoryview, kind: FrameChecksum) -> Callable[[int, int], int]:
    """Return the function that computes the checksum of the bytes of a block from a begin to an end.

    An end beyond the block, that of a damaged frame, counts as the end of the block.
    """
    data, capacity = AtomicBuffer(block), len(block)
    if kind is FrameChecksum.CRC32:
        return lambda begin, end: sums.crc32(data, begin, min(end, capacity) - begin, 0)
    return lambda begin, end: sums.crc32c(data, begin, min(end, capacity) - begin)


def _frames(block: memoryview) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each frame."""
    at = 0
    while at < len(block):
        # The frames were valid when they were scanned, but a client of this machine can write to its log at any time:
        # advance whatever the length is now.
        length: int = _I32.unpack_from(block, at)[0]
        end = at + positions.align_frame(max(length, wire.DATA_HEADER_LENGTH))
        yield at, end
        at = end


def _is_padding(block: memoryview, at: int) -> bool:
    return bool(_U16.unpack_from(block, at + wire.FRAME_TYPE_OFFSET)[0] == wire.TYPE_PAD)
