"""Input partition of a task."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from pyspark_aeron.reading.selection import Range


class RangePartition(InputPartition):
    """A piece of a recording, pickled to an executor."""

    def __init__(self, piece: Range) -> None:
        super().__init__(piece)
        self.piece = piece
