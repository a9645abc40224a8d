"""Last end of a message before the end of a recording, found in the last bytes instead of in the whole last term.

Frames refer to no frame before them. But a header contains its own position, and the frames from a true one on lead to
the end. A payload may contain bytes that do the same: so all that begin where a true one must begin have to agree.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from aeron_core._native import positions, wire
from aeron_core.recording.storage.descriptor import RecordingDescriptor

#: Length in which a frame begins, unless it is within padding. Source: the longest MTU, aligned.
_LONGEST_FRAME: Final = 65_536
#: Bytes to search: a true frame begins in the first half.
TAIL_LENGTH: Final = 2 * _LONGEST_FRAME

_COLUMNS: Final = wire.DATA_HEADER_LENGTH // 4
_LENGTH, _FLAGS_AND_TYPE = 0, 1
_TERM_OFFSET: Final = wire.DATA_TERM_OFFSET_OFFSET // 4
_STREAM_ID: Final = wire.DATA_STREAM_ID_OFFSET // 4
_TERM_ID: Final = wire.DATA_TERM_ID_OFFSET // 4


def last_border(data: bytes, descriptor: RecordingDescriptor, end: int) -> int | None:
    """Return the last end of a message in `data`, TAIL_LENGTH bytes of one term up to position `end`.

    Returns None if the data does not show it beyond doubt.
    """
    begin = end - len(data)
    headers = np.frombuffer(data, "<i4").reshape(-1, _COLUMNS)
    found = np.arange(begin, end, wire.DATA_HEADER_LENGTH)
    ends = found + ((headers[:, _LENGTH].astype(np.int64) + 31) & -wire.FRAME_ALIGNMENT)
    flags, types = headers[:, _FLAGS_AND_TYPE] >> 8, headers[:, _FLAGS_AND_TYPE] >> 16
    term_id = positions.compute_term_id(begin, descriptor.position_bits_to_shift, descriptor.initial_term_id)
    is_frame = (
        (headers[:, _TERM_OFFSET] == found % descriptor.term_length)
        & (headers[:, _TERM_ID] == term_id)
        & (headers[:, _STREAM_ID] == descriptor.stream_id)
        & ((types == wire.TYPE_DATA) | (types == wire.TYPE_PAD))
        & (headers[:, _LENGTH] >= wire.DATA_HEADER_LENGTH)
        & (ends <= end)
    )
    is_border = (types == wire.TYPE_PAD) | (flags & wire.DATA_FLAG_END != 0)
    # By position: the last end of a message that the frames from there on lead to, None if there is none.
    borders: dict[int, int | None] = {end: None}
    in_first_half: set[int | None] = set()
    for row in np.flatnonzero(is_frame)[::-1].tolist():
        position, following = int(found[row]), int(ends[row])
        if following not in borders:
            continue
        border = borders[following]
        if border is None and is_border[row]:
            border = following
        borders[position] = border
        if position < begin + _LONGEST_FRAME:
            in_first_half.add(border)
    return in_first_half.pop() if len(in_first_half) == 1 else None
