"""Reading recordings with Spark, compared with its Parquet source: `python benchmarks/spark.py [rows [jars]]`.

Seconds of processor time are those of the Java machine and all Python workers, from /proc: on a machine with other load
they are more meaningful than elapsed time. Rounds are interleaved; medians are printed, with ratios to Parquet.

The start of a query is measured separately, on ten rows: a source in Python has a process that imports PySpark from a
zip file, which no data source can change. The figures of a stream are the cost of its rows: elapsed time is that of its
trigger, and the processor time of the start is subtracted.

With Java, javac and Maven, the same number of rows is read from an Aeron Archive too: from its folder, and remotely, by
replays in shared memory and over UDP, beside a plain subscription to such a replay.

The reader in Java, `aeron-jvm`, is measured where its jar was built. Steady streams have a batch of each sixteenth of
the rows; the first two, in which a query starts, do not count.

With the jars of Delta Lake and Iceberg for the installed Spark, separated by commas, only these are measured: one
micro-batch of a stream of all rows into a new table, from recordings and from Parquet.
"""

import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark_aeron.session import jvm_reader_jar, session
from rich.console import Console
from rich.table import Table

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.writing.batch_appender import AppenderParams, BatchAppender, MessageColumn

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from java_archive import (
    JavaArchive,
    is_available,
    java_archive,
    replayed_mb_per_s,
    subscribed_mb_per_s,
)

ROWS = 2_000_000
PAYLOAD_LENGTH = 100
RECORDINGS = 2
ROUNDS = 3
START = "stream, 10 rows"
STEADY_BATCHES = 16
STARTING_BATCHES = 2
TWO_COLUMNS = "position bigint, payload binary"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    """Cost of one job."""

    seconds: float
    processor_seconds: float


class TupleSource(DataSource):
    """The same recordings with one Python tuple per row: the cost of a naive reader."""

    @classmethod
    def name(cls) -> str:
        return "aeron_tuples"

    def schema(self) -> str:
        return TWO_COLUMNS

    def reader(self, schema: object) -> DataSourceReader:
        return TupleReader(self.options["path"])


class TupleReader(DataSourceReader):
    def __init__(self, where: str) -> None:
        self.where = where

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(recording.recording_id) for recording in Archive.open(self.where).recordings()]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, bytes]]:
        recording = Archive.open(self.where).recording(partition.value)
        for message in messages(recording, recording.start_position, recording.position):
            yield message.position, bytes(message.payload)


def make_recordings(folder: Path, rows: int) -> None:
    """Write `rows` messages to several recordings."""
    archive = Archive.create(folder)
    each = rows // RECORDINGS
    data = np.random.default_rng(1).integers(0, 256, each * PAYLOAD_LENGTH, np.uint8)
    boundaries = np.arange(0, (each + 1) * PAYLOAD_LENGTH, PAYLOAD_LENGTH, dtype=np.int64)
    column = MessageColumn(AtomicBuffer(data), AtomicBuffer(boundaries), each)
    for number in range(RECORDINGS):
        BatchAppender(archive, f"writer-{number}", AppenderParams("aeron:ipc", number)).append(0, [column])


def processor_seconds() -> float:
    """Return the processor time of this process and its descendants, including ended children."""
    return sum(processor_times(os.getpid()).values())


def processor_times(root: int) -> dict[int, float]:
    """Return the processor times of a process and its descendants, including ended children."""
    found: dict[int, float] = {}
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(map(int, fields[11:15]))
    for process, ticks in times.items():
        ancestor = process
        while ancestor not in {0, 1, root}:
            ancestor = parents.get(ancestor, 0)
        if ancestor == root:
            found[process] = ticks / TICKS_PER_S
    return found


def cost_of(job: Callable[[], float | None]) -> Cost:
    """Return the cost of a job; the job returns its seconds if only part of its time counts."""
    began_s, used_s = time.perf_counter(), processor_seconds()
    seconds = job()
    return Cost(seconds or time.perf_counter() - began_s, processor_seconds() - used_s)


def to_nowhere(frame: DataFrame) -> Callable[[], None]:
    return lambda: frame.write.format("noop").mode("overwrite").save()


def stream_to_nowhere(frame: DataFrame, starting_batches: int = 0) -> Callable[[], float]:
    """Return a job that reads a stream, and returns the seconds of its batches but the first `starting_batches`."""

    def run() -> float:
        with tempfile.TemporaryDirectory() as checkpoint:
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            # Wait until its process ends, so that its processor time counts for this job.
            time.sleep(1)
            batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
            counted = batches[starting_batches:]
            return sum(progress["durationMs"]["triggerExecution"] for progress in counted) / 1000

    return run


def jobs_of(spark: SparkSession, folder: str) -> dict[str, Callable[[], float | None]]:
    archive, parquet, few, few_parquet = (
        f"{folder}/{name}" for name in ("archive", "parquet", "few", "few-parquet")
    )
    batch, stream = spark.read, spark.readStream
    schema = batch.parquet(parquet).schema
    length = sum(recording.size() for recording in Archive.open(archive).recordings()) // STEADY_BATCHES
    part = {"maxBytesPerTrigger": length}
    parts = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    jobs = {
        "batch, all columns": to_nowhere(batch.format("aeron").load(archive)),
        "batch, all columns, Parquet": to_nowhere(spark.read.parquet(parquet)),
        "batch, all columns, not verified": to_nowhere(
            batch.format("aeron").option("verify", "false").load(archive)
        ),
        "batch, 2 columns": to_nowhere(spark.read.format("aeron").schema(TWO_COLUMNS).load(archive)),
        "batch, 2 columns, Parquet": to_nowhere(spark.read.parquet(parquet).select("position", "payload")),
        "batch, 2 columns, tuples": to_nowhere(spark.read.format("aeron_tuples").load(archive)),
        "stream, all columns": stream_to_nowhere(stream.format("aeron").load(archive)),
        "stream, all columns, Parquet": stream_to_nowhere(spark.readStream.schema(schema).parquet(parquet)),
        "stream, steady": stream_to_nowhere(
            spark.readStream.format("aeron").options(**part).load(archive), STARTING_BATCHES
        ),
        "stream, steady, Parquet": stream_to_nowhere(parts.parquet(f"{parquet}-parts"), STARTING_BATCHES),
        f"{START}": stream_to_nowhere(spark.readStream.format("aeron").load(few)),
        f"{START}, Parquet": stream_to_nowhere(spark.readStream.schema(schema).parquet(few_parquet)),
    }
    if not has_jvm_reader():
        return jobs
    fast, fast_stream = spark.read.format("aeron-jvm"), spark.readStream.format("aeron-jvm")
    return jobs | {
        "batch, all columns, aeron-jvm": to_nowhere(fast.load(archive)),
        "batch, all columns, aeron-jvm, not verified": to_nowhere(
            spark.read.format("aeron-jvm").option("verify", "false").load(archive)
        ),
        "batch, 2 columns, aeron-jvm": to_nowhere(fast.load(archive).select("position", "payload")),
        "stream, all columns, aeron-jvm": stream_to_nowhere(fast_stream.load(archive)),
        "stream, steady, aeron-jvm": stream_to_nowhere(
            spark.readStream.format("aeron-jvm").options(**part).load(archive), STARTING_BATCHES
        ),
        f"{START}, aeron-jvm": stream_to_nowhere(fast_stream.load(few)),
    }


def has_jvm_reader() -> bool:
    try:
        jvm_reader_jar()
    except ConfigurationError:
        return False
    return True


def stream_to_table(frame: DataFrame, kind: str) -> Callable[[], float]:
    """Return a job that writes a stream into a new table of Delta Lake or Iceberg."""

    def run() -> float:
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format(kind).trigger(availableNow=True)
            writer = writer.option("checkpointLocation", checkpoint)
            table = f"lake.bench.rows_{uuid.uuid4().hex}"
            query = writer.toTable(table) if kind == "iceberg" else writer.start(f"{checkpoint}/rows")
            query.awaitTermination()
            assert query.exception() is None, query.exception()
            time.sleep(1)  # as for `stream_to_nowhere`
            if kind == "iceberg":
                frame.sparkSession.sql(f"DROP TABLE {table} PURGE")
            return sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress) / 1000

    return run


def lakehouse_jobs_of(spark: SparkSession, folder: str) -> dict[str, Callable[[], float | None]]:
    stream = spark.readStream
    schema = spark.read.parquet(f"{folder}/parquet").schema
    return {
        f"stream, {name}{end}": stream_to_table(frame, kind)
        for kind, name in {"delta": "into Delta Lake", "iceberg": "into Iceberg"}.items()
        for end, frame in {
            "": stream.format("aeron").load(f"{folder}/archive"),
            ", Parquet": stream.schema(schema).parquet(f"{folder}/parquet"),
        }.items()
    }


def lakehouse_settings(folder: str, jars: str) -> dict[str, str]:
    return {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"{folder}/lake",
    }


def archive_jobs_of(spark: SparkSession, archive: JavaArchive) -> dict[str, Callable[[], float | None]]:
    batch = spark.read.format("aeron")
    return {
        "batch, all columns, Aeron Archive, folder": to_nowhere(batch.load(str(archive.folder))),
        "batch, all columns, Aeron Archive, replays in shared memory": to_nowhere(
            batch.load(archive.in_shared_memory)
        ),
        "batch, all columns, Aeron Archive, replays over UDP": to_nowhere(batch.load(archive.over_udp)),
    }


def show_replays(archive: JavaArchive) -> None:
    rates = {
        "plain subscription in shared memory": lambda: subscribed_mb_per_s(archive, over_udp=False),
        "reader in shared memory": lambda: replayed_mb_per_s(archive.in_shared_memory),
        "plain subscription over UDP": lambda: subscribed_mb_per_s(archive, over_udp=True),
        "reader over UDP": lambda: replayed_mb_per_s(archive.over_udp),
    }
    found: dict[str, list[float]] = {name: [] for name in rates}
    for _ in range(ROUNDS):
        for name, rate in rates.items():
            found[name].append(rate())
    table = Table("replay of one recording", box=None)
    table.add_column("MB/s", justify="right")
    for name, values in found.items():
        table.add_row(name, f"{statistics.median(values):.0f}")
    Console(width=110).print(table)


def without_starts(costs: dict[str, list[Cost]]) -> None:
    """Subtract the cost of streams without rows."""
    for reader in ("", ", Parquet", ", aeron-jvm"):
        name, start = f"stream, all columns{reader}", f"{START}{reader}"
        if name not in costs:
            continue
        costs[name] = [
            Cost(cost.seconds, cost.processor_seconds - idle.processor_seconds)
            for cost, idle in zip(costs[name], costs[start], strict=True)
        ]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    jars = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(prefix="aeron-spark-") as folder, ExitStack() as stack:
        archive = f"{folder}/archive"
        make_recordings(Path(archive), rows)
        settings = {} if jars is None else lakehouse_settings(folder, jars)
        spark = session(
            "local[2]",
            settings={"spark.log.level": "ERROR", **settings},
            jvm_reader=jars is None and has_jvm_reader(),
        )
        spark.dataSource.register(TupleSource)
        make_recordings(Path(folder) / "few", 10)
        for name, target in {"archive": "parquet", "few": "few-parquet"}.items():
            spark.read.format("aeron").load(f"{folder}/{name}").write.parquet(f"{folder}/{target}")
        parts = spark.read.parquet(f"{folder}/parquet").repartition(STEADY_BATCHES)
        parts.write.parquet(f"{folder}/parquet-parts")
        jobs = jobs_of(spark, folder) if jars is None else lakehouse_jobs_of(spark, folder)
        java = None
        if jars is None and is_available():
            java = stack.enter_context(java_archive(rows, PAYLOAD_LENGTH, RECORDINGS))
            jobs |= archive_jobs_of(spark, java)
        costs: dict[str, list[Cost]] = {name: [] for name in jobs}
        for number in range(ROUNDS + 1):
            for name, job in jobs.items():
                cost = cost_of(job)
                if number:  # the first round compiles
                    costs[name].append(cost)
        if jars is None:
            without_starts(costs)
        show(costs, rows)
        if java is not None:
            show_replays(java)
        spark.stop()


def show(costs: dict[str, list[Cost]], rows: int) -> None:
    table = Table("job", box=None)
    for heading in ("M rows/s", "seconds", "of Parquet", "processor s", "of Parquet"):
        table.add_column(heading, justify="right")
    for name, own in costs.items():
        base = costs.get(f"{', '.join(name.split(', ')[:2])}, Parquet", own)
        seconds = statistics.median(cost.seconds for cost in own)
        used = statistics.median(cost.processor_seconds for cost in own)
        speed = statistics.median(b.seconds / a.seconds for a, b in zip(own, base, strict=True))
        thrift = statistics.median(
            b.processor_seconds / a.processor_seconds for a, b in zip(own, base, strict=True)
        )
        rate = "" if name.startswith(START) else f"{rows / seconds / 1e6:.2f}"
        table.add_row(name, rate, f"{seconds:.2f}", f"{speed:.2f}", f"{used:.2f}", f"{thrift:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
