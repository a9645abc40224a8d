"""Sensors that speak nng, into a table of Spark Structured Streaming.

    python examples/sensors.py

Three sensors dial the media driver with sockets of nng (SP PAIR1): each is a stream, and its readings are messages.
Spark records the streams while the query runs, and keeps a table of each sensor and second up to date. A position in a
recording is an offset of Spark, so each recorded reading counts exactly once.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pynng
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark_aeron.decoders import decode
from pyspark_aeron.session import session

import aeron_core

ENDPOINT = "127.0.0.1:20141"
# Polyamorous: any number of peers may connect. They do not see the stream id.
CHANNEL = f"aeron:sp?endpoint={ENDPOINT}|mode=listen|poly=true"
STREAM_ID = 1
INTERVAL_S = 0.005
#: Mean, amplitude and period (in seconds) of the temperature of each sensor.
SENSORS = {"boiler": (71.0, 4.0, 8.0), "pump": (38.5, 1.5, 4.0), "roof": (12.0, 0.5, 15.0)}
# Java's options are those of a program that ends after seconds: omit them for a query that runs for days.
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
BARS = "▁▂▃▄▅▆▇█"


class Sensor(threading.Thread):
    """Sends readings to the driver with a socket of nng, which connects again by itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.is_over = threading.Event()
        self.readings = 0

    def run(self) -> None:
        mean, amplitude, period_s = SENSORS[self.name]
        with pynng.Pair1(send_timeout=60_000) as socket:
            socket.dial(f"tcp://{ENDPOINT}", block=False)
            while not self.is_over.wait(INTERVAL_S):
                celsius = mean + amplitude * math.sin(2 * math.pi * time.monotonic() / period_s)
                # Blocks while the driver is behind: back pressure reaches the sensor.
                socket.send(json.dumps({"sensor": self.name, "celsius": round(celsius, 2)}).encode())
                self.readings += 1
            time.sleep(0.5)  # when a socket is closed, nng drops what it has not sent


def start_query(spark: SparkSession, aeron_dir: Path, folder: Path) -> StreamingQuery:
    """Keep the table `temperatures` of this session up to date, until the query is stopped."""
    stream = (
        spark.readStream.format("aeron")
        .option("live", True)
        .option("channel", CHANNEL)
        .option("streamId", STREAM_ID)
        .option("aeronDir", str(aeron_dir))
        .option("archive", str(folder / "spool"))
        .load()
    )
    readings: DataFrame = decode(stream, "json", {"schema": "sensor string, celsius double"})
    per_window = readings.groupBy("sensor", f.window("ts", "1 second").start.alias("begin")).agg(
        f.count("*").alias("readings"),
        f.min("celsius").alias("lowest"),
        f.avg("celsius").alias("mean"),
        f.max("celsius").alias("highest"),
    )
    return (
        per_window.writeStream.format("memory")  # for a table that outlives the session: parquet, delta, jdbc
        .queryName("temperatures")
        .outputMode("complete")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )


def rows_read(query: StreamingQuery) -> int:
    return sum(progress.numInputRows for progress in query.recentProgress)


def print_table(spark: SparkSession) -> None:
    print(f"{'sensor':<10}{'readings':>10}{'min °C':>10}{'mean °C':>10}{'max °C':>10}   second by second")
    rows = spark.table("temperatures").orderBy("sensor", "begin").collect()
    for sensor in SENSORS:
        windows = [row for row in rows if row["sensor"] == sensor]
        readings = sum(row["readings"] for row in windows)
        mean = sum(row["mean"] * row["readings"] for row in windows) / readings
        lowest, highest = min(row["lowest"] for row in windows), max(row["highest"] for row in windows)
        steps = (highest - lowest) / len(BARS) or 1
        bars = "".join(BARS[min(int((row["mean"] - lowest) / steps), len(BARS) - 1)] for row in windows)
        print(f"{sensor:<10}{readings:10,}{lowest:10.2f}{mean:10.2f}{highest:10.2f}   {bars}")


def run(spark: SparkSession, seconds: float) -> None:
    """Let the sensors send until their readings have been in the table for some seconds, and print it."""
    # Spark ends its reader, which still writes to the spool, a moment after the query.
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as folder, aeron_core.MediaDriver.launch_embedded() as driver:
        query = start_query(spark, driver.aeron_dir, Path(folder))
        sensors = [Sensor(name) for name in SENSORS]
        try:
            for sensor in sensors:
                sensor.start()
            print_progress(query, sensors, seconds)
            for sensor in sensors:
                sensor.is_over.set()
            for sensor in sensors:
                sensor.join()
            while query.isActive and rows_read(query) < sum(sensor.readings for sensor in sensors):
                time.sleep(0.1)
            if (error := query.exception()) is not None:
                raise error
            print()
            print_table(spark)
        finally:
            query.stop()


def print_progress(query: StreamingQuery, sensors: Sequence[Sensor], seconds: float) -> None:
    """Print a line each second, until there has been a table for as many seconds; the first one takes longest."""
    lines = 0
    while lines < seconds and query.isActive:
        time.sleep(1)
        rows = rows_read(query)
        lines += rows > 0
        print(
            f"{sum(sensor.readings for sensor in sensors):9,} readings sent {rows:9,} in the table",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Sensors that speak nng, into a table of Spark.")
    parser.add_argument("--seconds", type=float, default=5, help="how long to watch the table (default: 5)")
    seconds: float = parser.parse_args(arguments).seconds

    spark = session(settings=SETTINGS)
    try:
        run(spark, seconds)
    finally:
        spark.stop()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
