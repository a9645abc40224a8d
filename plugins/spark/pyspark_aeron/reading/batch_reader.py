"""Batch reader: recordings from `startingPosition` to `endingPosition`, by default their end at the planning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.planning import RangePartition, split
from pyspark_aeron.reading.selection import Selection

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Reader of one batch query: created in a planner process, pickled to the executors; keeps no file open."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partitions of all tasks; an empty list if there is no data.

        Raises the errors of `Selection.start`, `Selection.ranges` and `split`.
        """
        selection = Selection(self._options)
        ranges = selection.ranges(selection.start(), selection.end())
        pieces = split(selection, ranges, self._options.partition_length, self._options.min_partitions)
        return [RangePartition(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task as Arrow batches; raises the errors of `read_batches`."""
        from pyspark_aeron.reading.range_reader import read_batches  # noqa: PLC0415 - for executors only

        # Spark adds a partition of its own if there are none.
        if isinstance(partition, RangePartition):
            yield from read_batches(self._options, self._columns, partition.piece)
