"""Staging of rows between task and commit: one file per task, in a folder accessible from all machines.

Not here: the commit. A file without a commit contains no committed data and can be deleted. Invariant: what is
committed is what the task wrote: its commit message has a digest of the file, which no other user can read or replace.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from aeron_core.errors import ConfigurationError, RecordingError
from pyspark_aeron.writing.delivering import SUFFIX, private_parts, staging_folder
from pyspark_aeron.writing.sink_options import PAYLOAD_COLUMNS, RESERVED_COLUMN, SinkOptions
from pyspark_aeron.writing.staged_file import StagedFile, StagedFileWriter, Task

# Local properties of a task of a streaming query; undocumented, but unchanged since Spark 2.
_BATCH_ID: Final = "streaming.sql.batchId"
_QUERY_ID: Final = "sql.streaming.queryId"


class Staged(StagedFile, WriterCommitMessage):
    """Commit message of a task."""


def current_task(job: str) -> Task:
    """Return the task of Spark that this process runs; `job` is the writer if there is no streaming query."""
    context = TaskContext.get()
    assert context is not None
    query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
    return Task(query or job, int(batch or 0), context.partitionId())


def stage(options: SinkOptions, batches: Iterable[pa.RecordBatch], task: Task) -> Staged:
    """Write the rows of a task to a file, and return the commit message.

    Raises RecordingError if the file cannot be written or its folder belongs to another user, ConfigurationError if a
    message is null.
    """
    folder = staging_folder(options, task.writer)
    path = folder / f"{task.batch_id}-{task.partition}-{uuid.uuid4().hex}{SUFFIX}"
    writer = StagedFileWriter(path, private_parts(options))
    try:
        for batch in batches:
            # Without a row there is no file: a commit message without a path deletes none.
            if batch.num_rows:
                _write(writer, batch)
        digest = writer.finish()
    except BaseException as error:
        writer.close()
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise RecordingError(
            f"cannot write {path}: {error.strerror or error}: free disk space, permit this user to write there, or set "
            "another folder with option staging; then restart the query, or run the job again: no row is lost"
        ) from error
    return Staged(str(path) if writer.rows else "", writer.rows, task, digest)


def _write(writer: StagedFileWriter, batch: pa.RecordBatch) -> None:
    """Write the messages of a batch of rows; raises ConfigurationError if a message is null."""
    names = batch.schema.names
    payload = next(name for name in PAYLOAD_COLUMNS if name in names)
    messages = batch.column(payload)
    if messages.null_count:
        raise ConfigurationError(
            f"column {payload} is null (number of rows: {messages.null_count}): must not be null, but may be empty: "
            "drop these rows, or give them a value"
        )
    messages = messages.cast(pa.large_binary())
    _, offsets, data = messages.buffers()
    boundaries = np.frombuffer(offsets, np.int64, len(messages) + 1, messages.offset * 8)
    begin, end = int(boundaries[0]), int(boundaries[-1])
    reserved = None
    if RESERVED_COLUMN in names:
        reserved = np.asarray(batch.column(RESERVED_COLUMN).cast(pa.int64()).fill_null(0))
    writer.write(b"" if data is None else data.slice(begin, end - begin), boundaries - begin, reserved)
