"""Planning of a batch: its limit, and its pieces for tasks.

Cuts are at message boundaries and reproducible: they depend only on immutable data, the terms of a recording and its
index below its position.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.datasource import InputPartition

from aeron_core.recording import Recording
from pyspark_aeron.reading.offsets import Offset
from pyspark_aeron.reading.selection import Range, Selection


class RangePartition(InputPartition):
    """Input partition of a task: a piece of a recording, pickled to an executor."""

    def __init__(self, piece: Range) -> None:
        super().__init__(piece)
        self.piece = piece


def share_out(selection: Selection, start: Offset, end: Offset, max_length: int) -> Offset:
    """Return an offset at most about `max_length` bytes after `start`; recordings advance in proportion to their lags.

    Each with unread data advances at least to a message boundary, possibly over padding only. Raises the errors of
    `Selection.ranges`, RecordingNotFoundError for a recording that is deleted meanwhile, and CorruptRecordingError for
    a damaged mark.
    """
    ranges = selection.ranges(start, end)
    total = sum(piece.length for piece in ranges)
    if total <= max_length:
        return end
    positions = dict(end.positions)
    for piece in ranges:
        share = max(piece.length * max_length // total, 1)
        recording = selection.recording(piece.recording_id)
        positions[piece.recording_id] = _cut(recording, piece.begin, piece.begin + share, piece.end)
    return Offset(end.archive, positions)


def split(
    selection: Selection, ranges: Iterable[Range], partition_length: int, min_partitions: int | None
) -> list[Range]:
    """Split `ranges` into pieces of at most about `partition_length` bytes, at least `min_partitions` if possible.

    A piece ends at the end of a message; it is longer if no end is known before. Raises CorruptRecordingError for a
    range that the files of its recording do not contain, DataLossError for one that was purged.
    """
    ranges = list(ranges)
    for whole in ranges:
        selection.recording(whole.recording_id).check_extent(whole.begin, whole.end)
    if min_partitions is not None:
        total = sum(piece.length for piece in ranges)
        partition_length = max(min(partition_length, -(-total // min_partitions)), 1)
    pieces: list[Range] = []
    for whole in ranges:
        begin, near = whole.begin, whole.near
        while begin < whole.end:
            recording = selection.recording(whole.recording_id)
            end = _cut(recording, begin, begin + partition_length, whole.end)
            pieces.append(Range(whole.recording_id, begin, end, near))
            begin, near = end, None  # cuts are at ends of messages
    return pieces


def _cut(recording: Recording, begin: int, wanted: int, end: int) -> int:
    """Return a message boundary after `begin`, near `wanted`, and at most at `end`."""
    if wanted >= end:
        return end
    before = recording.border_before(wanted, begin)
    if before > begin:
        return before
    return min(recording.border_after(wanted), end)
