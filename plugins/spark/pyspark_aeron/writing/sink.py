"""Sink of a query: its rows are written into a recording, or published.

Tasks stage their rows; a commit, in one process, delivers them in the order of the partitions. Spark can commit a batch
again after a crash, and calls `abort` after a failed commit: neither repeats nor removes what was recorded.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from pyspark_aeron.quiet_ends import end_quietly
from pyspark_aeron.writing.delivering import commit_batch, commit_job, discard_all
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staged_file import discard
from pyspark_aeron.writing.staging import Staged, current_task, stage

if TYPE_CHECKING:
    import pyarrow as pa

# As in Spark's interface: the message of a failed task is None.
Messages = list[WriterCommitMessage | None]


class BatchWriter(DataSourceArrowWriter):
    """Writer of one job; its rows appear at the commit. Pickled to the executors, where `write` runs."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._job = f"job-{uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage the rows of one task and return its commit message; raises the errors of `stage`."""
        end_quietly()
        return stage(self._options, iterator, current_task(self._job))

    def commit(self, messages: Messages) -> None:
        """Record or publish all rows; raises the errors of `commit_job`."""
        end_quietly()
        commit_job(self._options, _staged(messages), self._job)

    def abort(self, messages: Messages) -> None:
        """Delete the staged rows of the job; delivered rows are not affected."""
        discard_all(self._options, self._job)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writer of the batches of a streaming query. Pickled to the executors, where `write` runs."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage the rows of one task and return its commit message; raises the errors of `stage`."""
        end_quietly()
        return stage(self._options, iterator, current_task("query"))

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Record the rows of a batch, unless that was done before, or publish them.

        Raises the errors of `commit_batch`; the batch can be committed again then.
        """
        end_quietly()
        commit_batch(self._options, _staged(messages), batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Delete the staged rows; delivered rows are not affected."""
        discard(_staged(messages))


def _staged(messages: Messages) -> list[Staged]:
    return [cast(Staged, message) for message in messages if message is not None]
