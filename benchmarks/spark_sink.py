"""Writing with Spark, compared with its Parquet sink: `python benchmarks/spark_sink.py [rows]`.

To Parquet files, to a recording and to a channel: all write the same rows of 100 random bytes, which Spark reads from
Parquet files. The sink with tasks in Java, `aeron-jvm`, is measured where its jar was built. Seconds of processor time
are those of the Java machine and all Python processes, and for the channel also of the media driver and a subscriber.
The cost of reading alone is in the first line, and is part of all others. Rounds are interleaved; medians are printed.

A stream is one micro-batch; its seconds are those of the trigger.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark_aeron.session import session
from rich.console import Console
from rich.table import Table
from spark import ROUNDS, Cost, cost_of, has_jvm_reader, make_recordings
from spark_latency import running

import aeron_core

ROWS: Final = 1_000_000
CHANNEL: Final = "aeron:ipc?term-length=16m"
STREAM_ID: Final = 1001
NOWHERE: Final = "reading alone"

Job = Callable[[Path], float | None]


def subscribe(aeron_dir: str) -> None:
    """Receive until the process is terminated."""
    with aeron_core.connect(aeron_dir) as aeron, aeron.add_subscription(CHANNEL, STREAM_ID) as subscription:
        while True:
            if not subscription.poll(lambda buffer, header: None, 1000):
                time.sleep(0.001)


def nowhere(frame: DataFrame) -> Job:
    return lambda _: frame.write.format("noop").mode("overwrite").save()


def parquet(frame: DataFrame) -> Job:
    return lambda target: frame.write.parquet(str(target))


def recording(frame: DataFrame, sink: str) -> Job:
    return lambda target: frame.write.format(sink).mode("append").save(str(target))


def channel(frame: DataFrame, sink: str, aeron_dir: str) -> Job:
    writer = frame.write.format(sink).mode("append").option("channel", CHANNEL)
    return lambda _: writer.option("streamId", STREAM_ID).option("aeronDir", aeron_dir).save()


def stream(frame: DataFrame, sink: str) -> Job:
    def run(target: Path) -> float:
        writer = frame.writeStream.format(sink).option("checkpointLocation", f"{target}-checkpoint")
        query = writer.trigger(availableNow=True).start(str(target))
        query.awaitTermination()
        return sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress) / 1000

    return run


def jobs_of(spark: SparkSession, folder: Path, aeron_dir: str) -> dict[str, Job]:
    rows = str(folder / "rows")
    batch = spark.read.parquet(rows)
    stream_of_rows = spark.readStream.schema(batch.schema).parquet(rows)
    jobs: dict[str, Job] = {
        NOWHERE: nowhere(batch),
        "batch, Parquet": parquet(batch),
        "stream, Parquet": stream(stream_of_rows, "parquet"),
    }
    for sink in ("aeron", "aeron-jvm") if has_jvm_reader() else ("aeron",):
        jobs[f"batch, recording, {sink}"] = recording(batch, sink)
        jobs[f"batch, channel, {sink}"] = channel(batch, sink, aeron_dir)
        jobs[f"stream, recording, {sink}"] = stream(stream_of_rows, sink)
    return jobs


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aeron-spark-sink-")))
        aeron_dir = str(folder / "aeron")
        stack.enter_context(running("aeron-core", "driver", "--aeron-dir", aeron_dir))
        while not (folder / "aeron" / "cnc.dat").exists():
            time.sleep(0.1)
        stack.enter_context(running(sys.executable, __file__, "--subscribe", aeron_dir))
        make_recordings(folder / "archive", rows)
        spark = session("local[2]", settings={"spark.log.level": "ERROR"}, jvm_reader=has_jvm_reader())
        stack.callback(spark.stop)
        spark.read.format("aeron").load(str(folder / "archive")).select("payload").write.parquet(
            str(folder / "rows")
        )
        jobs = jobs_of(spark, folder, aeron_dir)
        costs: dict[str, list[Cost]] = {name: [] for name in jobs}
        numbers = count()
        for number in range(ROUNDS + 1):
            for name, job in jobs.items():
                target = folder / f"target-{next(numbers)}"
                cost = cost_of(lambda job=job, target=target: job(target))
                subprocess.run(["rm", "-rf", target, f"{target}-checkpoint"], check=True)
                if number:  # the first round compiles
                    costs[name].append(cost)
        show(costs, rows)


def show(costs: dict[str, list[Cost]], rows: int) -> None:
    table = Table("job", box=None)
    for heading in ("M rows/s", "seconds", "of Parquet", "processor s", "of Parquet"):
        table.add_column(heading, justify="right")
    for name, own in costs.items():
        base = costs.get(f"{name.partition(',')[0]}, Parquet", own)
        seconds = statistics.median(cost.seconds for cost in own)
        used = statistics.median(cost.processor_seconds for cost in own)
        speed = statistics.median(b.seconds / a.seconds for a, b in zip(own, base, strict=True))
        thrift = statistics.median(
            b.processor_seconds / a.processor_seconds for a, b in zip(own, base, strict=True)
        )
        table.add_row(
            name,
            f"{rows / seconds / 1e6:.2f}",
            f"{seconds:.2f}",
            f"{speed:.2f}",
            f"{used:.2f}",
            f"{thrift:.2f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--subscribe"]:
        subscribe(sys.argv[2])
    else:
        main()
