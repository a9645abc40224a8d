"""The demo pipeline of a log: a publication, UDP with loss, a recording, a streaming query, a table.

Not here: options and output (demo). Invariant: the input is compared with the final table, as Spark reads it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.cli.connecting import connect_as
from aeron_core.client.aeron import Aeron
from aeron_core.client.publications.offerer import Offerer
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import AeronError
from aeron_core.recording import Archive
from aeron_core.recording.writing.recorder import Recorder, RecorderParams
from pyspark_aeron.decoders import decode
from pyspark_aeron.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_STREAM_ID: Final = 1001
_TIMEOUT_S: Final = 60.0
_PAUSE_S: Final = 0.001
_REPORT_INTERVAL_S: Final = 0.5
#: A line of dpkg's log: date, time, action, package.
_EVENTS_SQL: Final = """
    SELECT position, to_timestamp(substring(text, 1, 19)) AS time, split(text, ' ')[2] AS action,
           split(text, ' ')[3] AS subject, text
    FROM log
"""
_PER_MINUTE_SQL: Final = """
    SELECT date_trunc('minute', time) AS minute, action, count(*) AS events FROM events GROUP BY 1, 2 ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class DemoParams:
    """Input, target folder and loss rate of the demo."""

    lines: list[bytes]
    folder: Path
    loss: float = 0.02  # share of datagrams dropped in each direction, from 0 to below 1
    seed: int = 42
    # Called after each message with the counts to add: 1 message, and its bytes.
    on_sent: Callable[[int, int], object] | None = None
    # Called after all is sent, on a thread, with the rows that the query has read so far.
    on_read: Callable[[int], object] = lambda _: None


@dataclass(slots=True)
class DemoOutcome:
    """Rows of the table compared with the input, and durations."""

    rows: int = 0
    distinct_rows: int = 0
    batches: int = 0
    send_seconds: float = 0.0
    seconds: float = 0.0
    actions: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)
    per_minute: list[tuple[object, str, int]] = field(default_factory=list)  # time, action, events

    @property
    def is_equal(self) -> bool:
        """Whether the table has as many rows as the input has lines, none twice, and each action as often."""
        return self.rows == self.distinct_rows == self.expected.total() and self.actions == self.expected


def run_demo(params: DemoParams) -> DemoOutcome:
    """Send, record, query, and return the counts; raises AeronError, or Spark's error if the query fails."""
    began_s = time.monotonic()
    outcome = DemoOutcome(expected=Counter(_action_of(line) for line in params.lines))
    settings = {
        "debug_receive_data_loss_rate": params.loss,
        "debug_receive_data_loss_seed": params.seed,
        "debug_receive_control_loss_rate": params.loss,
        "debug_receive_control_loss_seed": params.seed + 1,
    }
    archive = Archive.create(params.folder / "recordings")
    spark = session(name="aeron-core demo", settings={"spark.log.level": "ERROR"})
    try:
        with (
            MediaDriver.launch_embedded(settings) as driver,
            connect_as("pipeline demo", driver.aeron_dir) as aeron,
            connect_as("pipeline demo", driver.aeron_dir) as recording_client,
            _recorder(recording_client, archive) as channel,
        ):
            query = _start_query(spark, params.folder)
            try:
                end = _send(aeron, channel, params, outcome)
                _await_recorded(archive, end)
                with _reported_rows(query, params.on_read):
                    query.processAllAvailable()
            finally:
                query.stop()
            outcome.batches = sum(progress.numInputRows > 0 for progress in query.recentProgress)
        _count(spark.read.parquet(str(params.folder / "events")), outcome)
    finally:
        spark.stop()
    outcome.seconds = time.monotonic() - began_s
    return outcome


@contextmanager
def _reported_rows(query: StreamingQuery, on_read: Callable[[int], object]) -> Iterator[None]:
    """Call `on_read` regularly, on a thread, with the rows that the query has read."""
    is_over = threading.Event()

    def report() -> None:
        while not is_over.wait(_REPORT_INTERVAL_S):
            on_read(sum(progress.numInputRows for progress in query.recentProgress))

    thread = threading.Thread(target=report, name="rows")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def _recorder(aeron: Aeron, archive: Archive) -> Iterator[str]:
    """Record on a thread, and yield the channel to publish on.

    Raises AeronError if the driver has bound no port, and at the end the first error of the recorder.
    """
    errors: list[AeronError] = []
    with aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", _STREAM_ID) as subscription:
        channel = subscription.resolved_channel()
        if channel is None:
            raise AeronError(f"the driver has bound no port for {subscription.channel}: run the demo again")
        recorder = Recorder(aeron, archive, [subscription], RecorderParams(on_error=errors.append))
        is_over = threading.Event()

        def record() -> None:
            pause_s = 0.0
            while not is_over.wait(pause_s):
                pause_s = 0.0 if recorder.do_work() else _PAUSE_S

        thread = threading.Thread(target=record, name="recorder")
        thread.start()
        try:
            yield channel
        finally:
            is_over.set()
            thread.join()
            recorder.on_close()
    if errors:
        raise errors[0]


def _start_query(spark: SparkSession, folder: Path) -> StreamingQuery:
    stream = spark.readStream.format("aeron").load(str(folder / "recordings"))
    decode(stream, "utf8").createOrReplaceTempView("log")
    return (
        spark.sql(_EVENTS_SQL)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start(str(folder / "events"))
    )


def _send(aeron: Aeron, channel: str, params: DemoParams, outcome: DemoOutcome) -> int:
    """Send all lines and return the position after the last one; raises the errors of `Offerer.offer`."""
    began_s = time.monotonic()
    with closing(aeron.add_publication(channel, _STREAM_ID)) as publication:
        publication.await_connected(_TIMEOUT_S)
        offerer = Offerer(publication, _TIMEOUT_S)
        end = 0
        for line in params.lines:
            end = offerer.offer(line)
            if params.on_sent is not None:
                params.on_sent(1, len(line))
        outcome.send_seconds = time.monotonic() - began_s
        return end


def _await_recorded(archive: Archive, end: int) -> None:
    deadline_s = time.monotonic() + _TIMEOUT_S
    while not any(recording.position >= end for recording in archive.recordings()):
        if time.monotonic() >= deadline_s:
            raise AeronError(
                f"position {end} was not recorded within {_TIMEOUT_S:g} s: reduce --loss, or check the disk of "
                f"{archive.uri}"
            )
        time.sleep(_PAUSE_S)


def _count(events: DataFrame, outcome: DemoOutcome) -> None:
    events.createOrReplaceTempView("events")
    outcome.rows = events.count()
    outcome.distinct_rows = events.select("position").distinct().count()
    spark = events.sparkSession
    counts = spark.sql("SELECT action, count(*) FROM events GROUP BY 1").collect()
    outcome.actions = Counter({row[0]: row[1] for row in counts})
    outcome.per_minute = [(row[0], row[1], row[2]) for row in spark.sql(_PER_MINUTE_SQL).collect()]


def _action_of(line: bytes) -> str:
    """Return the action of a line, computed independently of the query; an empty text if the line is too short."""
    words = line.decode("utf-8", "replace").split(" ")
    return words[2] if len(words) > 2 else ""
