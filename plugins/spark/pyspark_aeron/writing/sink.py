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

from aeron_core.recording import Archive
from aeron_core.recording.writing.batch_appender import AppenderParams, BatchAppender
from pyspark_aeron.writing.publishing import end_publication, publish
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staging import (
    Staged,
    Task,
    discard,
    discard_all,
    discard_before,
    stage,
    staged_columns,
    staging_folder,
)

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
        return stage(self._options, iterator, Task.current(self._job))

    def commit(self, messages: Messages) -> None:
        """Record or publish all rows; raises the errors of `BatchAppender.append`, or of `publish`."""
        try:
            _deliver(self._options, _staged(messages), self._job, 0)
        finally:
            # The next job publishes with another session id, so this publication is never used again.
            end_publication(self._options, self._job)
        discard_all(staging_folder(self._options, self._job))

    def abort(self, messages: Messages) -> None:
        """Delete the staged rows of the job; delivered rows are not affected."""
        discard_all(staging_folder(self._options, self._job))


class StreamWriter(DataSourceStreamArrowWriter):
    """Writer of the batches of a streaming query. Pickled to the executors, where `write` runs."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage the rows of one task and return its commit message; raises the errors of `stage`."""
        return stage(self._options, iterator, Task.current("query"))

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Record the rows of a batch, unless that was done before, or publish them.

        Raises the errors of `BatchAppender.append`, or of `publish`; the batch can be committed again then.
        """
        staged = _staged(messages)
        for query in {message.task.writer for message in staged}:  # one, or none if no task ran
            _deliver(self._options, staged, query, batchId)
            discard_before(staging_folder(self._options, query), batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Delete the staged rows; delivered rows are not affected."""
        discard(_staged(messages))


def check_target(options: SinkOptions) -> None:
    """Create the archive if necessary, so that errors appear before any row is read.

    Raises ConfigurationError if the archive is not in a local folder, and the errors of `Archive.create`.
    """
    if options.archive:
        _appender(options, "")


def _appender(options: SinkOptions, writer: str) -> BatchAppender:
    params = AppenderParams(
        options.channel or f"spark:{writer}",
        options.stream_id,
        term_length=options.term_length,
        segment_length=options.segment_length,
    )
    return BatchAppender(Archive.create(options.archive), writer, params)


def _deliver(options: SinkOptions, staged: list[Staged], writer: str, batch_id: int) -> None:
    if options.archive:
        appender = _appender(options, writer)
        appender.append(batch_id, (column for _, column in staged_columns(staged)))
    else:
        publish(options, staged, writer, batch_id)
    discard(staged)


def _staged(messages: Messages) -> list[Staged]:
    return [cast(Staged, message) for message in messages if message is not None]
