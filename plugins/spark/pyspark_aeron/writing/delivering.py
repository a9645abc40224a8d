"""Delivery of staged rows by a commit: into a recording, or onto a channel.

Not here: Spark. Invariant: rows that were recorded are neither recorded again nor removed, however often the commit of
a batch is repeated; published rows carry the same identity each time.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from aeron_core.recording import Archive
from aeron_core.recording.storage import names
from aeron_core.recording.writing.batch_appender import AppenderParams, BatchAppender
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staged_file import StagedFile, columns_of, discard

#: Suffix of staged files.
SUFFIX: Final = ".rows"
# Earlier versions wrote files of Arrow.
_FILE: Final = re.compile(r"(\d{1,19})-\d+-[0-9a-f]{32}\.(rows|arrow)")


def staging_folder(options: SinkOptions, writer: str) -> Path:
    """Return the folder for the files of the tasks of `writer`, a query or job; does not create it."""
    if options.staging is not None:
        root = Path(options.staging)
    elif options.archive:
        root = Path(options.archive) / names.STAGING
    else:
        root = Path(tempfile.gettempdir()) / f"aeron-core-{os.getuid()}" / names.STAGING
    return root / writer


def private_parts(options: SinkOptions) -> int:
    """Return how many parts of the path of the staging folder must be of this user alone."""
    # Any user can create the first part in the temporary folder. The parents of a chosen folder or of an archive are
    # the user's own choice.
    return 1 if options.staging is not None or options.archive else 3


def check_target(options: SinkOptions) -> None:
    """Create the archive if necessary, so that errors appear before any row is read.

    Raises ConfigurationError if the archive is not in a local folder, and the errors of `Archive.create`.
    """
    if options.archive:
        _appender(options, "")


def commit_job(options: SinkOptions, files: Sequence[StagedFile], job: str) -> None:
    """Record or publish all rows of a job and delete its files; raises the errors of `commit_batch`."""
    try:
        _deliver(options, files, job, 0)
    finally:
        if not options.archive:
            from pyspark_aeron.writing.publishing import end_publication  # noqa: PLC0415 - imports the client

            # The next job publishes with another session id, so this publication is never used again.
            end_publication(options, job)
    discard_all(options, job)


def commit_batch(options: SinkOptions, files: Sequence[StagedFile], batch_id: int) -> None:
    """Record the rows of a batch of a query, unless that was done before, or publish them.

    Raises the errors of `BatchAppender.append`, or of `publish`; the batch can be committed again then.
    """
    for query in {file.task.writer for file in files}:  # one, or none if no task ran
        _deliver(options, files, query, batch_id)
        _discard_before(staging_folder(options, query), batch_id)


def discard_all(options: SinkOptions, job: str) -> None:
    """Delete all files of a job, including those of tasks that died."""
    shutil.rmtree(staging_folder(options, job), ignore_errors=True)


def _discard_before(folder: Path, batch_id: int) -> None:
    """Delete files of batches before `batch_id`, left by tasks that died before they returned a commit message."""
    for path in folder.glob("*"):
        match = _FILE.fullmatch(path.name)
        if match is not None and int(match[1]) < batch_id:
            with suppress(OSError):
                path.unlink()


def _appender(options: SinkOptions, writer: str) -> BatchAppender:
    params = AppenderParams(
        options.channel or f"spark:{writer}",
        options.stream_id,
        term_length=options.term_length,
        segment_length=options.segment_length,
    )
    return BatchAppender(Archive.create(options.archive), writer, params)


def _deliver(options: SinkOptions, files: Sequence[StagedFile], writer: str, batch_id: int) -> None:
    if options.archive:
        # An append that fails, as by a wrong digest, commits no row.
        with closing(columns_of(files, is_undone=True)) as columns:
            _appender(options, writer).append(batch_id, (column for _, column in columns))
    else:
        from pyspark_aeron.writing.publishing import publish  # noqa: PLC0415 - imports the client

        publish(options, files, writer, batch_id)
    discard(files)
