"""Cost of comparing what a batch reads with its checksums: `python benchmarks/spark_verify.py [rows [rounds]]`.

Each reader of recordings in Spark, by workers in Python and by the reader in Java if its jar was built, is
measured with `verify=true` and `verify=false`. Each round has both, in an order that alternates, so that other programs
and the compilation of the JVM affect both alike. Costs are medians of the rounds' differences, in percent of the job
without a comparison, with the quartiles: other programs change single rounds by more than a comparison costs. Processor
time is more meaningful than elapsed time if there are any.

The time of the sums alone, over as many bytes as the recordings have, is measured besides, in the library and in Java:
the share of a job that they can cost at least, with little noise.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark_aeron.session import session
from rich.console import Console
from rich.table import Table
from spark import TWO_COLUMNS, Cost, cost_of, has_jvm_reader, make_recordings, to_nowhere

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording import Archive
from aeron_core.recording._native import sums

ROWS = 2_000_000
ROUNDS = 12
SUMMED = 1 << 24
#: Rounds in which the JVM compiles.
WARM_UP = 2


def batch_of(
    spark: SparkSession, kind: str, archive: str, *, is_verified: bool, is_narrow: bool
) -> DataFrame:
    """Return a batch of a reader; a narrow one has two columns."""
    reader = spark.read.format(kind).option("verify", is_verified)
    if is_narrow and kind == "aeron":
        reader = reader.schema(TWO_COLUMNS)
    frame = reader.load(archive)
    return frame.select("position", "payload") if is_narrow else frame


def read_times(spark: SparkSession, archive: str, rounds: int) -> dict[str, list[tuple[Cost, Cost]]]:
    """Return the costs of each reader, with and without a comparison, by its name."""
    formats = {"workers in Python": "aeron"} | ({"reader in Java": "aeron-jvm"} if has_jvm_reader() else {})
    jobs = {}
    for name, kind in formats.items():
        for columns in ("all columns", "2 columns"):
            jobs[f"{name}, {columns}"] = [
                to_nowhere(
                    batch_of(spark, kind, archive, is_verified=verified, is_narrow=columns == "2 columns")
                )
                for verified in (True, False)
            ]
    found: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in jobs}
    for number in range(WARM_UP + rounds):
        for name, (with_sums, without) in jobs.items():
            if number % 2:
                pair = cost_of(with_sums), cost_of(without)
            else:
                pair = (cost_of(without), cost_of(with_sums))[::-1]
            if number >= WARM_UP:
                found[name].append(pair)
    return found


def sum_seconds(spark: SparkSession, length: int) -> dict[str, float]:
    """Return the processor seconds in which each library sums `length` bytes: the least of several times."""
    data = AtomicBuffer(np.random.default_rng(1).integers(0, 256, SUMMED, np.uint8))
    jvm = spark._jvm.java.util.zip.CRC32()
    buffer = spark._jvm.java.nio.ByteBuffer.allocate(SUMMED)

    def sum_in_java() -> None:
        buffer.clear()
        jvm.update(buffer)

    works = {"workers in Python": lambda: sums.crc32(data, 0, SUMMED, 0), "reader in Java": sum_in_java}
    least = dict.fromkeys(works, float("inf"))
    for _ in range(200):
        for name, work in works.items():
            began_s = time.perf_counter()
            work()
            least[name] = min(least[name], time.perf_counter() - began_s)
    return {name: seconds * length / SUMMED for name, seconds in least.items()}


def show(found: dict[str, list[tuple[Cost, Cost]]], summed_s: dict[str, float], length: int) -> None:
    """Print the costs of each reader."""
    table = Table("batch", box=None, title=f"{length / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")
    for heading in (
        "s",
        "verified, +%",
        "quartiles",
        "CPU s",
        "verified, +%",
        "quartiles",
        "sums alone, % of CPU",
    ):
        table.add_column(heading, justify="right")
    for name, pairs in found.items():
        row = []
        for attribute in ("seconds", "processor_seconds"):
            plain = [getattr(without, attribute) for _, without in pairs]
            more = [
                100 * (getattr(with_sums, attribute) / base - 1)
                for (with_sums, _), base in zip(pairs, plain, strict=True)
            ]
            low, middle, high = statistics.quantiles(more, n=4)
            row += [f"{statistics.median(plain):.2f}", f"{middle:+.1f}", f"{low:+.1f} to {high:+.1f}"]
        base_s = statistics.median(without.processor_seconds for _, without in pairs)
        row.append(f"{100 * summed_s[name.partition(',')[0]] / base_s:.1f}")
        table.add_row(name, *row)
    Console(width=130).print(table)


def main() -> None:
    """Measure in rounds and print the costs."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="aeron-spark-") as folder:
        archive = f"{folder}/archive"
        make_recordings(Path(archive), rows)
        length = sum(recording.size() for recording in Archive.open(archive).recordings())
        spark = session("local[2]", settings={"spark.log.level": "ERROR"}, jvm_reader=has_jvm_reader())
        found = read_times(spark, archive, rounds)
        show(found, sum_seconds(spark, length), length)
        spark.stop()


if __name__ == "__main__":
    main()
