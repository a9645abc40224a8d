"""Streaming reader: reads recordings as they grow, in micro-batches.

Spark creates the reader in two processes, so the constructor opens nothing; its state exists only in the process of the
query's runner.
"""

from __future__ import annotations

import importlib.util
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from aeron_core.errors import ConfigurationError
from aeron_core.recording.retention.leases import read_lease, write_lease
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading.offsets import Offset
from pyspark_aeron.reading.planning import RangePartition, share_out, split
from pyspark_aeron.reading.selection import Selection

if TYPE_CHECKING:
    import pyarrow as pa

    from pyspark_aeron.reading.live_spool import LiveSpool

# Spark 4.1 asks no data source in Python for limits.
if TYPE_CHECKING or importlib.util.find_spec("pyspark.sql.streaming.datasource") is not None:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        SupportsTriggerAvailableNow,
    )
else:

    class ReadLimit:
        """Limit of a micro-batch."""

    class ReadAllAvailable(ReadLimit):
        """No limit."""

    class ReadMaxBytes(ReadLimit):
        """Limit in bytes."""

        def __init__(self, max_bytes: int) -> None:
            self.max_bytes = max_bytes

    class SupportsTriggerAvailableNow:
        """Source that is prepared for Trigger.AvailableNow."""


# Pause while there is less than `minBytesPerTrigger`. An invented number: the longest pause between two polls of an
# archive.
_LONGEST_PAUSE_S: Final = 0.04


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streaming reader of one query."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._opened: Selection | None = None
        self._spool: LiveSpool | None = None
        self._target: Offset | None = None  # end of a query with Trigger.AvailableNow, else None
        self._waiting_since_s: float | None = None  # start of the wait for `minBytesPerTrigger`
        self._planned: dict[str, Any] | None = None  # end of the last batch that this process has planned
        self._leased_ns: int | None = None  # time of the lease as this process has written it last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_spool": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name, as all below
        """Return the offset at which a new query begins, and lease the data from there if `consumerName` is given.

        Raises the errors of `Selection`, of its `start`, and of `LiveSpool` for a live stream.
        """
        start = self._selection.start()
        self._lease(start)
        self._planned = start.to_json()
        return self._planned

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of a micro-batch: `maxBytesPerTrigger`, or all data without it."""
        most = self._options.max_bytes_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxBytes(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Record the current positions, at which the query will end."""
        self._target = self._selection.latest()

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """Return the end of the next micro-batch, or `start`; wait up to `pollTimeout` for new data.

        Spark 4.1 gives neither argument, and does not call `prepareForTriggerAvailableNow`: batches have no limit then.
        Raises DataLossError for data that was lost, or purged with failOnDataLoss; RecordingError for a checkpoint of
        another archive; and the error that ended the recording of a live stream.
        """
        selection = self._selection
        start = self._planned if start is None else start
        if start is None:
            return selection.latest().to_json()  # of a query that has just been restarted
        begin = Offset.parse(start, selection.archive.uuid)
        if self._spool is not None:
            self._spool.check()
            # Spark has completed all batches before `start`.
            self._spool.note_read(begin.positions)
        if self._target is None:
            end = selection.wait_after(begin, self._options.poll_timeout)
        else:
            # Recordings that were deleted, or exist only in the checkpoint, keep their positions.
            end = Offset(self._target.archive, {**begin.positions, **self._target.positions})
        end.check_not_before(begin)
        # Computing the ranges here reports purged data before a task fails.
        length = sum(piece.length for piece in selection.ranges(begin, end))
        if limit is not None and self._waits_for_more(length):
            time.sleep(_LONGEST_PAUSE_S)  # Spark calls again at once
            return begin.to_json()
        if isinstance(limit, ReadMaxBytes):
            end = share_out(selection, begin, end, limit.max_bytes)
        return end.to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the recorded positions, from which Spark's progress shows the lag."""
        return self._selection.latest().to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the partitions of a micro-batch, an empty list if `start` equals `end`.

        Data before `start` may be purged from now on. Raises the errors of `Selection.ranges` and `split`.
        """
        self._planned = end
        if start == end:
            return []
        selection = self._selection
        begin = Offset.parse(start, selection.archive.uuid)
        self._lease(begin)
        if self._spool is not None:
            self._spool.note_needed(begin.positions)
        ranges = selection.ranges(begin, Offset.parse(end, selection.archive.uuid))
        pieces = split(selection, ranges, self._options.partition_length, self._options.min_partitions)
        return [RangePartition(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task as Arrow batches; raises the errors of `read_batches`."""
        from pyspark_aeron.reading.range_reader import read_batches  # noqa: PLC0415 - for executors only

        assert isinstance(partition, RangePartition)
        yield from read_batches(self._options, self._columns, partition.piece)

    def commit(self, end: dict[str, Any]) -> None:
        """Advance the lease to `end`; Spark calls this one batch late, and never for the last batch of a run.

        Raises ConfigurationError if another query has the same lease.
        """
        self._lease(Offset.parse(end, self._selection.archive.uuid))

    def stop(self) -> None:
        """Close the spool and the archive; the lease stays, because the query can be restarted."""
        if self._opened is not None:
            self._opened.archive.close()
            self._opened = None
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    @property
    def _selection(self) -> Selection:
        if self._opened is None:
            if self._options.live:
                from pyspark_aeron.reading.live_spool import LiveSpool  # noqa: PLC0415 - imports a client, for `live` only

                self._spool = LiveSpool(self._options)
            self._opened = Selection(self._options)
            _exit_quietly_on_sigterm()
        return self._opened

    def _waits_for_more(self, length: int) -> bool:
        least = self._options.min_bytes_per_trigger
        if least is None or self._target is not None:
            return False
        now_s = time.monotonic()
        if self._waiting_since_s is None:
            self._waiting_since_s = now_s
        is_late = now_s - self._waiting_since_s >= self._options.max_trigger_delay / 1e9
        if length < least and not is_late:
            return True
        self._waiting_since_s = None
        return False

    def _lease(self, offset: Offset) -> None:
        name = self._options.consumer_name
        if name is None:
            return
        store = self._selection.archive.store
        held = None if self._leased_ns is None else read_lease(store, name)
        if held is not None and held.updated_ns != self._leased_ns:
            raise ConfigurationError(
                f"option consumerName={name}: another running query has renewed this lease in {store.uri}, so that "
                "data which this one has not read may be purged: give each query a name of its own; if this query "
                "joins a source with itself, declare the source twice, with two names"
            )
        self._leased_ns = write_lease(store, name, offset.positions, time.time_ns()).updated_ns


def _exit_quietly_on_sigterm() -> None:
    """Handle SIGTERM, which Spark sends instead of calling `stop`, by an exception that ends the process.

    Does nothing on another thread than the main one, or if the program has a handler.
    """
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    ):
        signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(0)
