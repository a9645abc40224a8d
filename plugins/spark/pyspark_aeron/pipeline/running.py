"""Run of a pipeline: its queries, until they end, fail, or are stopped.

Not here: the display of progress (display).
"""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from pyspark.errors import PySparkException

from aeron_core.errors import PipelineError
from aeron_core.uri.values import shown
from pyspark_aeron.lag import Lags, LookUp
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.definition import Pipeline
from pyspark_aeron.pipeline.progress import BatchProgress
from pyspark_aeron.session import session

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

Wait = Callable[[float], bool]  # waits for the given seconds; returns whether to stop

_CHECK_INTERVAL_S: Final = 0.2
#: Longest cause that the text of an error begins with. Invented: a few lines of a terminal.
_MAX_CAUSE_LENGTH: Final = 500
# The line after the frames of a traceback, and the causes in Java's stack traces.
_PYTHON_CAUSE: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)*(\S.*)")
_JAVA_CAUSE: Final = re.compile(r"^Caused by: (.*)", re.MULTILINE)


class PipelineRun:
    """A run of one pipeline; used by one thread."""

    def __init__(
        self, pipeline: Pipeline, *, progress_log: Path | None = None, look_up: LookUp | None = None
    ) -> None:
        self._pipeline = pipeline
        self._log_path = progress_log
        self._seen: dict[str, tuple[str, int]] = {}
        self._look_up = look_up or Lags(
            uri for source in pipeline.sources.values() if (uri := source.archive_uri)
        )

    def run(self, wait: Wait, on_progress: Callable[[BatchProgress], object]) -> None:
        """Start all queries and watch them until `wait` returns true, or all have ended.

        Raises PipelineError with Spark's message if one fails or is refused, after stopping the others; the errors of
        `session` and of decoders; OSError if the progress log cannot be written.
        """
        with _interrupts_kept():
            spark = session(
                self._pipeline.master,
                name=self._pipeline.name,
                settings=self._pipeline.settings,
                local_checkpoints="://" not in self._pipeline.checkpoint,
            )
        try:
            try:
                queries = build(self._pipeline, spark).start()
            except PySparkException as error:
                text = str(error)
                raise PipelineError(
                    f"pipeline {self._pipeline.name}: Spark refuses a source, a step or a query: correct the file"
                    + (cause_in(text) or f": {text.splitlines()[0]}")
                ) from None
            try:
                with _LogFile(self._log_path) as log:
                    self._watch(queries, wait, on_progress, log)
            finally:
                for query in queries:
                    query.stop()
        finally:
            spark.stop()

    def _watch(
        self,
        queries: list[StreamingQuery],
        wait: Wait,
        on_progress: Callable[[BatchProgress], object],
        log: _LogFile,
    ) -> None:
        is_stopping = False
        while True:
            is_over = is_stopping or not any(query.isActive for query in queries)
            for query in queries:
                for progress in self.new_progress(query):
                    log.write(progress)
                    on_progress(progress)
                check_query(query)
            if is_over:
                return
            is_stopping = wait(_CHECK_INTERVAL_S)

    def new_progress(self, query: StreamingQuery) -> Iterator[BatchProgress]:
        """Yield the batches of a query that were not yielded before."""
        if (last := query.lastProgress) is None:
            return
        key, documents = str(query.id), [json.loads(last.json)]
        seen, mark = self._seen.get(key), _mark_of(documents[0])
        if seen == mark:
            return
        if seen is None or mark[1] != seen[1] + 1:
            # Spark sends all reports that it keeps, 100 by default: 30 ms of CPU time for each look at a query.
            documents = [json.loads(progress.json) for progress in query.recentProgress]
        for document in documents:
            mark = _mark_of(document)
            if key not in self._seen or mark > self._seen[key]:
                self._seen[key] = mark
                # Reads archives, so only for new batches.
                yield BatchProgress.of(document, self._look_up)


def _mark_of(document: Mapping[str, Any]) -> tuple[str, int]:
    """Return what orders the reports of a query: an idle query repeats the number of its batch."""
    return document["timestamp"], int(document["batchId"])


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Restore, on the main thread, the SIGINT handler, which Spark replaces by one that raises KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


class _LogFile:
    """File of the progress log, one line per batch; writes nothing without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> _LogFile:
        if self._path is not None:
            self._file = self._path.open("a", encoding="utf-8", buffering=1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, progress: BatchProgress) -> None:
        if self._file is not None:
            self._file.write(progress.to_json() + "\n")


def check_query(query: StreamingQuery) -> None:
    """Raise PipelineError if the query has failed."""
    error = query.exception()
    if error is not None:
        raise PipelineError(
            f"query {query.name} has failed{cause_in(str(error))}; remove the cause and run the pipeline again, which "
            f"continues from the checkpoint: {error}"
        )


def cause_in(text: str) -> str:
    """Return a colon and the cause in the text of an error of Spark, "" if it has none.

    It is the last exception of Python or, if there is none, of Java. Spark has it between stack traces, of which a long
    message does not show the middle.
    """
    causes = _PYTHON_CAUSE.findall(text) or _JAVA_CAUSE.findall(text)
    return f": {shown(causes[-1], _MAX_CAUSE_LENGTH)}" if causes else ""
