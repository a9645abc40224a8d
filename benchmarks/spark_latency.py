"""Latency from `offer` to the sink of a streaming query, and idle load: `python benchmarks/spark_latency.py`.

One process publishes its time every two milliseconds, another records, and a Spark query reads the recording; its sink
compares the times with its own. The times of triggers are printed next to those of Spark's rate source, in the same
session. The idle load is measured for `[seconds]`, 60 by default.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark_aeron.session import session
from rich.console import Console
from rich.table import Table
from spark import processor_times

import aeron_core
from aeron_core.cli.messages.latency import Latencies

CHANNEL: Final = "aeron:ipc"
STREAM_ID: Final = 1001
PAUSE_S: Final = 0.002
# Until the Java machine has compiled most of the code, which the rate source reuses.
WARM_UP_S: Final = 90
MEASURED_S: Final = 30
SETTLED_S: Final = 15  # until the last micro-batch has ended, on a busy machine too


def publish(aeron_dir: str) -> None:
    """Offer the time until the process is terminated."""
    with aeron_core.connect(aeron_dir) as aeron:
        publication = aeron.add_publication(CHANNEL, STREAM_ID)
        publication.await_connected(timeout=30)
        while True:
            publication.offer(time.time_ns().to_bytes(8, "little"))
            time.sleep(PAUSE_S)


class Arrivals:
    """A sink that compares the times in the messages with its own clock."""

    def __init__(self) -> None:
        self.latencies = Latencies()

    def take(self, frame: DataFrame, batch_id: int) -> None:
        """Record the latencies of a micro-batch; called when it is complete."""
        payloads = frame.select("payload").toArrow().column(0).combine_chunks()
        now_ns = time.time_ns()
        if len(payloads):
            offered_ns = np.frombuffer(b"".join(payloads.to_pylist()), "<i8")
            for latency_ns in now_ns - offered_ns:
                self.latencies.add(int(latency_ns))


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the end of the block."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def triggers_of(query: StreamingQuery) -> Latencies:
    """Return the durations of the latest micro-batches with rows."""
    found = Latencies()
    for progress in query.recentProgress[-100:]:
        if progress["numInputRows"]:
            found.add(progress["durationMs"]["triggerExecution"] * 1_000_000)
    return found


def phases_of(query: StreamingQuery) -> dict[str, float]:
    """Return the median milliseconds of each phase of a micro-batch."""
    batches = [p["durationMs"] for p in query.recentProgress[-100:] if p["numInputRows"]]
    return {name: float(np.median([batch.get(name, 0) for batch in batches])) for name in sorted(batches[-1])}


def started(
    frame: DataFrame, checkpoint: Path, take: Callable[[DataFrame, int], None] | None = None
) -> StreamingQuery:
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(
        processingTime="0 seconds"
    )
    return (writer.format("noop") if take is None else writer.foreachBatch(take)).start()


def rate_query(spark: SparkSession, folder: Path) -> StreamingQuery:
    """Run a query of the rate source with an equivalent sink, for the cost of Spark itself; return it."""
    arrived: list[int] = []

    def take(frame: DataFrame, _batch_id: int) -> None:
        arrived.append(frame.select("value").toArrow().num_rows)

    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).load()
    query = started(frame, folder / "rate-checkpoint", take)
    time.sleep(WARM_UP_S + MEASURED_S)
    query.stop()
    return query


def show_phases(rows: dict[str, dict[str, float]]) -> None:
    """Print the phases of the micro-batches."""
    table = Table("medians in milliseconds", box=None)
    phases = sorted({phase for found in rows.values() for phase in found})
    for phase in phases:
        table.add_column(phase, justify="right")
    for name, found in rows.items():
        table.add_row(name, *(f"{found.get(phase, 0):.0f}" for phase in phases))
    Console(width=140).print(table)


def show_latencies(rows: dict[str, Latencies]) -> None:
    table = Table("in milliseconds", box=None)
    for heading in ("count", "p50", "p90", "p99", "longest"):
        table.add_column(heading, justify="right")
    for name, found in rows.items():
        values = [found.percentile_ns(q) / 1_000_000 for q in (50, 90, 99, 100)]
        table.add_row(name, str(found.count), *(f"{value:.0f}" for value in values))
    Console(width=110).print(table)


def load_of(seconds: float, *processes: int) -> list[float]:
    """Return the load of processes and their descendants, in percent of a core; ended ones are ignored."""
    before = [processor_times(process) for process in processes]
    time.sleep(seconds)
    loads = []
    for process, used in zip(processes, before, strict=True):
        now = processor_times(process)
        loads.append(sum(now[each] - used[each] for each in now.keys() & used.keys()) * 100 / seconds)
    return loads


def main() -> None:
    idle_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aeron-spark-latency-")))
        aeron_dir = str(folder / "aeron")
        driver = stack.enter_context(running("aeron-core", "driver", "--aeron-dir", aeron_dir))
        while not (folder / "aeron" / "cnc.dat").exists():
            time.sleep(0.1)
        archive = str(folder / "archive")
        recorder = stack.enter_context(
            running(
                "aeron-core", "record", CHANNEL, str(STREAM_ID), "--to", archive, "--aeron-dir", aeron_dir
            )
        )
        publisher = stack.enter_context(running(sys.executable, __file__, "--publish", aeron_dir))
        spark = session("local[2]", settings={"spark.log.level": "ERROR"})
        stack.callback(spark.stop)
        arrivals = Arrivals()
        query = started(
            spark.readStream.format("aeron").schema("position bigint, payload binary").load(archive),
            folder / "checkpoint",
            arrivals.take,
        )
        time.sleep(WARM_UP_S)
        arrivals.latencies = Latencies()
        time.sleep(MEASURED_S)
        end_to_end, own, own_phases = arrivals.latencies, triggers_of(query), phases_of(query)
        publisher.terminate()
        time.sleep(SETTLED_S)
        reading, recording, driving = load_of(idle_s, os.getpid(), recorder.pid, driver.pid)
        query.stop()
        rate = rate_query(spark, folder)
        show_latencies(
            {
                "from offer to sink": end_to_end,
                "a trigger": own,
                "a trigger of the rate source": triggers_of(rate),
            }
        )
        show_phases({"a trigger": own_phases, "of the rate source": phases_of(rate)})
        (folder / "empty").mkdir()
        query = started(
            spark.readStream.schema("a int").parquet(str(folder / "empty")), folder / "file-checkpoint"
        )
        time.sleep(5)
        [files] = load_of(idle_s, os.getpid())
        query.stop()
        [nothing] = load_of(idle_s, os.getpid())
        session_load = files - recording - driving, nothing - recording - driving
        show_loads(reading - recording - driving, recording, driving, *session_load)


def show_loads(reading: float, recording: float, driving: float, files: float, nothing: float) -> None:
    table = Table("idle", box=None)
    table.add_column("% of a core", justify="right")
    for name, load in {
        "Spark without a query": nothing,
        "Spark with a query of recordings": reading,
        "Spark with a query of Parquet files": files,
        "recorder": recording,
        "media driver": driving,
    }.items():
        table.add_row(name, f"{load:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--publish"]:
        publish(sys.argv[2])
    else:
        main()
