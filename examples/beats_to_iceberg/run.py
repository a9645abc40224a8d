"""Events of Beats into a table of Iceberg, each exactly once.

    make -C examples/beats_to_iceberg

A program logs to Logstash by python-logstash-async, with the protocol of Beats (Lumberjack). The driver acknowledges an
event when its recorder has written it to disk, and the pipeline in pipeline.toml, on Spark, appends it to the table.
"""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

from logstash_async.constants import constants
from logstash_async.formatter import LogstashFormatter
from logstash_async.handler import AsynchronousLogstashHandler
from pyspark.sql import Row, SparkSession
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.definition import Pipeline, load_pipeline
from pyspark_aeron.session import session

import aeron_core

ENDPOINT = "127.0.0.1:20145"
STREAM = f"aeron:lumberjack?endpoint={ENDPOINT} 1001"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
EVENTS = 3000
SECONDS = 6
LEVELS = {"INFO": "tab:green", "WARNING": "tab:orange", "ERROR": "tab:red"}
# Java's options are those of a program that ends after seconds: omit them for a pipeline that runs for days.
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def run_shop() -> None:
    """Log the orders of a shop; return when all events are acknowledged."""
    # By default the handler makes a connection for every 50 events.
    vars(constants).update(QUEUED_EVENTS_BATCH_SIZE=EVENTS, QUEUED_EVENTS_BEATS_BATCH_SIZE=250)
    host, _, port = ENDPOINT.rpartition(":")
    handler = AsynchronousLogstashHandler(
        host, int(port), database_path=None, transport="logstash_async.transport.BeatsTransport"
    )
    handler.setFormatter(LogstashFormatter(extra_prefix=""))
    logger = logging.getLogger("orders")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)

    chance = random.Random(7)
    start_s = time.monotonic()
    for number in range(EVENTS):
        time.sleep(max(start_s + number * SECONDS / EVENTS - time.monotonic(), 0))
        extra = {"amount": round(chance.lognormvariate(3, 1), 2)}
        if chance.random() < 0.02:
            logger.error("order %d: payment failed", number, extra=extra)
        elif chance.random() < 0.1:
            logger.warning("order %d: out of stock", number, extra=extra)
        else:
            logger.info("order %d: paid", number, extra=extra)
    handler.close()  # returns when the last window is acknowledged
    logger.removeHandler(handler)


def print_table(rows: Sequence[Row]) -> None:
    print(f"{'level':<10}{'events':>8}{'amount':>14}   last event")
    for level in LEVELS:
        found = [row for row in rows if row["level"] == level]
        amount = sum(row["amount"] for row in found)
        print(
            f"{level:<10}{len(found):8,}{amount:14,.2f}   {max(found, key=lambda row: row['at'])['message']}"
        )
    distinct = {(row["recording_id"], row["position"]) for row in rows}
    print(
        f"\n{EVENTS:,} events were acknowledged, the table has {len(rows):,}, {len(distinct):,} of them distinct"
    )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the events of each half second by level to a file, in a format that its suffix names."""
    import matplotlib.pyplot as plt  # the extra plots

    begin = min(row["at"] for row in rows)
    times = [
        [(row["at"] - begin).total_seconds() for row in rows if row["level"] == level] for level in LEVELS
    ]
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    edges = [step / 2 for step in range(2 * SECONDS + 3)]
    axes.hist(times, edges, stacked=True, label=list(LEVELS), color=list(LEVELS.values()))
    axes.set_title("Events in the table, by half a second and level", loc="left")
    axes.set_xlabel("seconds")
    axes.set_ylabel("events")
    axes.legend(loc="lower left")
    figure.savefig(path)


def run(spark: SparkSession, pipeline: Pipeline) -> list[Row]:
    """Run the pipeline while the shop logs; return the table when it has all that was acknowledged."""
    queries = build(pipeline, spark).start()
    try:
        print(f"the pipeline runs; the shop logs {EVENTS:,} events in {SECONDS} s", flush=True)
        run_shop()
        for query in queries:
            query.processAllAvailable()
    finally:
        for query in queries:
            query.stop()
    return spark.read.format("iceberg").load(pipeline.sinks[0].path).collect()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Events of Beats into a table of Iceberg.")
    parser.add_argument("--to", type=Path, help="draw the events to this file, such as events.png")
    parser.add_argument("--jars", help="jars of Iceberg, separated by commas (default: Spark downloads them)")
    chosen = parser.parse_args(arguments)
    jars = {"spark.jars": chosen.jars} if chosen.jars else {"spark.jars.packages": ICEBERG}

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "pipeline.toml"
        template = Template(Path(__file__).with_name("pipeline.toml").read_text(encoding="utf-8"))
        file.write_text(template.substitute(folder=folder), encoding="utf-8")
        pipeline = load_pipeline(file)
        recording = {"streams": [STREAM], "to": f"{folder}/recordings"}
        with aeron_core.MediaDriver.launch_embedded(sections={"recording": recording}):
            spark = session(name=pipeline.name, settings={**SETTINGS, **pipeline.settings, **jars})
            try:
                rows = run(spark, pipeline)
            finally:
                spark.stop()
    print_table(rows)
    if chosen.to is not None:
        draw(rows, chosen.to)
        print(f"drawn to {chosen.to}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
