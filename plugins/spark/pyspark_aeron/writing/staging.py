"""Staging of rows between task and commit: one Arrow file per task, in a folder accessible from all machines.

Not here: the commit. A file without a commit contains no committed data and can be deleted. Invariant: what is
committed is what the task wrote: its commit message has a digest of the file, which no other user can read or replace.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording.storage import names
from aeron_core.recording.writing.batch_appender import MessageColumn
from pyspark_aeron.writing.private_folder import create_private_file, open_private_file
from pyspark_aeron.writing.sink_options import SinkOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

#: Columns for the message; the second is the name in Spark's Kafka connector.
PAYLOAD_COLUMNS: Final = ("payload", "value")
RESERVED_COLUMN: Final = "reserved"
# Local properties of a task of a streaming query; undocumented, but unchanged since Spark 2.
_BATCH_ID: Final = "streaming.sql.batchId"
_QUERY_ID: Final = "sql.streaming.queryId"
_FILE: Final = re.compile(r"(\d{1,19})-\d+-[0-9a-f]{32}\.arrow")


@dataclass(frozen=True, slots=True)
class Task:
    """Identity of a task of a batch."""

    writer: str  # the streaming query, or the job
    batch_id: int
    partition: int

    @classmethod
    def current(cls, job: str) -> Task:
        """Return the task of Spark that this process runs; `job` is the writer if there is no streaming query."""
        context = TaskContext.get()
        assert context is not None
        query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        return cls(query or job, int(batch or 0), context.partitionId())


@dataclass
class Staged(WriterCommitMessage):
    """Commit message: the file that a task has written."""

    path: str  # empty if the task had no rows
    rows: int
    task: Task
    sha256: str = ""  # of the file


def check_columns(schema: StructType) -> None:
    """Raise ConfigurationError if the columns do not form a message."""
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    payload = next((name for name in PAYLOAD_COLUMNS if name in types), None)
    if payload is None:
        raise ConfigurationError(
            f"columns {', '.join(types)}: must contain payload or value, the message; may contain reserved (bigint "
            "or int), its reserved value"
        )
    if types[payload] not in {"binary", "string"}:
        raise ConfigurationError(f"column {payload} {types[payload]}: must be binary or string")
    others = types.keys() - {payload, RESERVED_COLUMN}
    if others:
        raise ConfigurationError(
            f"columns {', '.join(sorted(others))}: would be lost; select payload and reserved alone, such as "
            "to_json(struct(*)) AS payload"
        )
    if types.get(RESERVED_COLUMN, "bigint") not in {"bigint", "int"}:
        raise ConfigurationError(f"column reserved {types[RESERVED_COLUMN]}: must be bigint or int")


def staging_folder(options: SinkOptions, writer: str) -> Path:
    """Return the folder for the files of the tasks of `writer`, a query or job; does not create it."""
    if options.staging is not None:
        root = Path(options.staging)
    elif options.archive:
        root = Path(options.archive) / names.STAGING
    else:
        root = Path(tempfile.gettempdir()) / f"aeron-core-{os.getuid()}" / names.STAGING
    return root / writer


def _private_parts(options: SinkOptions) -> int:
    """Return how many parts of the path of the staging folder must be of this user alone."""
    # Any user can create the first part in the temporary folder. The parents of a chosen folder or of an archive are
    # the user's own choice.
    return 1 if options.staging is not None or options.archive else 3


def stage(options: SinkOptions, batches: Iterable[pa.RecordBatch], task: Task) -> Staged:
    """Write the rows of a task to a file, and return the commit message.

    Raises RecordingError if the file cannot be written or its folder belongs to another user, ConfigurationError if a
    message is null.
    """
    folder = staging_folder(options, task.writer)
    path = folder / f"{task.batch_id}-{task.partition}-{uuid.uuid4().hex}.arrow"
    try:
        rows, digest = _write(path, _private_parts(options), batches)
    except BaseException as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise RecordingError(
            f"cannot write {path}: {error.strerror or error}: free disk space, permit this user to write there, or set "
            "another folder with option staging; then restart the query, or run the job again: no row is lost"
        ) from error
    return Staged(str(path) if rows else "", rows, task, digest)


def _write(path: Path, private_parts: int, batches: Iterable[pa.RecordBatch]) -> tuple[int, str]:
    """Write the messages; return their number and the file's digest. Without a row there is no file."""
    rows = 0
    sink: pa.ipc.RecordBatchFileWriter | None = None
    with ExitStack() as stack:
        try:
            for batch_of_rows in batches:
                messages = _messages(batch_of_rows)
                if messages.num_rows == 0:
                    # Create no file for tasks without rows: their commit messages have no path, so the commit would
                    # not delete the file.
                    continue
                if sink is None:
                    fd = create_private_file(path.parent, path.name, private_parts)
                    file = stack.enter_context(open(fd, "w+b"))
                    sink = pa.ipc.new_file(file, messages.schema)
                sink.write_batch(messages)
                rows += messages.num_rows
        finally:
            if sink is not None:
                sink.close()
        if sink is None:
            return 0, ""
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return rows, hashlib.file_digest(file, "sha256").hexdigest()


def staged_columns(staged: Iterable[Staged]) -> Iterator[tuple[Staged, MessageColumn]]:
    """Yield the messages of all tasks, in the order of the partitions.

    Raises RecordingError for a file that cannot be read, or is not what its task wrote.
    """
    for message in sorted(staged, key=lambda message: message.task.partition):
        if message.path:
            reader = pa.ipc.open_file(_content_of(message))
            for index in range(reader.num_record_batches):
                yield message, _column(reader.get_batch(index))


def _content_of(message: Staged) -> pa.Buffer:
    """Return the file of a task, mapped; raises RecordingError if it cannot be read or its digest is another one."""
    path = Path(message.path)
    try:
        fd = open_private_file(path)
        try:
            content = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:  # ValueError: the file is empty
        cause = error.strerror or error if isinstance(error, OSError) else error
        raise RecordingError(
            f"cannot read {path}: {cause}; restart the query, or run the job again, to repeat the batch; if tasks run "
            "on other machines, set option staging to a folder that all of them share"
        ) from error
    if hashlib.sha256(content).hexdigest() != message.sha256:
        raise RecordingError(
            f"{path}: is not what its task wrote; no row of it is used; restart the query, or run the job again, to "
            "repeat the batch"
        )
    return pa.py_buffer(content)


def discard(staged: Iterable[Staged | None]) -> None:
    """Delete the files of tasks."""
    for message in staged:
        if message is not None and message.path:
            Path(message.path).unlink(missing_ok=True)


def discard_before(folder: Path, batch_id: int) -> None:
    """Delete files of batches before `batch_id`, left by tasks that died before they returned a commit message."""
    for path in folder.glob("*.arrow"):
        match = _FILE.fullmatch(path.name)
        if match is not None and int(match[1]) < batch_id:
            path.unlink(missing_ok=True)


def discard_all(folder: Path) -> None:
    """Delete all files of a job, including those of tasks that died."""
    shutil.rmtree(folder, ignore_errors=True)


def _messages(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns of the messages; raises ConfigurationError if a message is null."""
    names = batch.schema.names
    payload = next(name for name in PAYLOAD_COLUMNS if name in names)
    messages = batch.column(payload)
    if messages.null_count:
        raise ConfigurationError(
            f"column {payload} is null (number of rows: {messages.null_count}): must not be null, but may be empty: "
            "drop these rows, or give them a value"
        )
    arrays = [messages.cast(pa.large_binary())]
    columns = ["payload"]
    if RESERVED_COLUMN in names:
        arrays.append(batch.column(RESERVED_COLUMN).cast(pa.int64()).fill_null(0))
        columns.append(RESERVED_COLUMN)
    return pa.RecordBatch.from_arrays(arrays, names=columns)


def _column(batch: pa.RecordBatch) -> MessageColumn:
    payload = batch.column(0)
    _, boundaries, data = payload.buffers()
    reserved = None
    if batch.num_columns > 1:
        reserved = np.asarray(batch.column(1), np.int64)
    first = payload.offset * 8
    return MessageColumn(
        AtomicBuffer(data if data is not None else b""),
        AtomicBuffer(boundaries.slice(first, (len(payload) + 1) * 8)),
        len(payload),
        reserved,
    )
