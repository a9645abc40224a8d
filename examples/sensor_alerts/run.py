"""A sensor that speaks nng gets alerts back over the socket that its readings leave by (SP PAIR1).

    make -C examples/sensor_alerts

The sensor of a boiler sends its temperature. The pipeline in pipeline.toml, on Spark, sends an alert for each reading
of 80 °C or more, upon which the boiler is cooled for a while, until it heats up again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import NamedTuple, cast

import pynng
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.definition import Pipeline, load_pipeline
from pyspark_aeron.session import session

import aeron_core

ENDPOINT = "127.0.0.1:20149"
CHANNEL = f"aeron:sp?endpoint={ENDPOINT}|mode=listen"
LIMIT_CELSIUS = 80.0
COOLED_CELSIUS = 74.0
INTERVAL_S = 0.02
ALERTS = 4
# Java's options are those of a program that ends after seconds: omit them for a pipeline that runs for days.
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Reading(NamedTuple):
    """A temperature, and when it was sent, in seconds after the first one."""

    time_s: float
    celsius: float


class Alert(NamedTuple):
    """The alert that began to cool the boiler: number and temperature of the reading, and when it arrived."""

    time_s: float
    number: int
    celsius: float


class Boiler(threading.Thread):
    """Sends readings with a socket of nng, and receives alerts with it."""

    def __init__(self) -> None:
        super().__init__(name="boiler", daemon=True)
        self.is_heating = threading.Event()
        self.is_over = threading.Event()
        self.readings: list[Reading] = []
        self.alerts: list[Alert] = []
        self.received = 0

    def run(self) -> None:
        celsius, is_cooling, start_s = 76.0, False, time.monotonic()
        with pynng.Pair1(send_timeout=60_000) as socket:
            socket.dial(f"tcp://{ENDPOINT}", block=False)
            while not self.is_over.wait(INTERVAL_S):
                if self.is_heating.is_set():
                    celsius += -0.12 if is_cooling else 0.05
                is_cooling = is_cooling and celsius > COOLED_CELSIUS
                reading = {"number": len(self.readings), "celsius": round(celsius, 2)}
                # Blocks until the driver is connected, and while it is behind.
                socket.send(json.dumps(reading).encode())
                start_s = start_s if self.readings else time.monotonic()
                self.readings.append(Reading(time.monotonic() - start_s, celsius))
                with suppress(pynng.TryAgain):
                    while True:
                        alert = json.loads(cast("bytes", socket.recv(block=False)))
                        self.received += 1
                        # Alerts for readings before the last cooling arrive until all of these are processed.
                        if not is_cooling and celsius >= LIMIT_CELSIUS and len(self.alerts) < ALERTS:
                            is_cooling = True
                            now_s = time.monotonic() - start_s
                            self.alerts.append(Alert(now_s, alert["number"], alert["celsius"]))


def await_true(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    """Wait until the condition is true; raise the error of a query that has failed, or SystemExit after two minutes."""
    deadline_s = time.monotonic() + 120
    while not condition():
        if (error := query.exception()) is not None:
            raise error
        if time.monotonic() >= deadline_s:
            raise SystemExit("the query has sent too few alerts in two minutes: is the machine busy?")
        time.sleep(0.1)


def run(spark: SparkSession, pipeline: Pipeline) -> Boiler:
    """Run the pipeline until the boiler has been cooled some times."""
    boiler = Boiler()
    (query,) = build(pipeline, spark).start()
    try:
        print("the pipeline starts", flush=True)
        boiler.start()
        # The first batch of a query takes seconds, because Java and Python load their modules.
        await_true(query, lambda: any(each.numInputRows for each in query.recentProgress))
        print("the boiler heats up", flush=True)
        boiler.is_heating.set()
        await_true(query, lambda: len(boiler.alerts) == ALERTS)
    finally:
        boiler.is_over.set()
        query.stop()
    boiler.join()
    return boiler


def print_table(boiler: Boiler) -> None:
    print(f"{'reading':>8}{'°C':>8}{'alert after':>14}")
    for alert in boiler.alerts:
        delay_s = alert.time_s - boiler.readings[alert.number].time_s
        print(f"{alert.number:8,}{alert.celsius:8.2f}{delay_s:12.2f} s")
    print(
        f"\n{len(boiler.readings):,} readings, {boiler.received:,} alerts; {len(boiler.alerts)} began to cool"
    )


def draw(boiler: Boiler, path: Path) -> None:
    """Draw the temperature and the alerts to a file, in a format that its suffix names."""
    import matplotlib.pyplot as plt  # the extra plots

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.plot(
        [reading.time_s for reading in boiler.readings],
        [reading.celsius for reading in boiler.readings],
        label="boiler",
    )
    axes.axhline(LIMIT_CELSIUS, color="tab:red", linewidth=1, linestyle="--", label="limit")
    for index, alert in enumerate(boiler.alerts):
        axes.axvline(alert.time_s, color="0.6", linewidth=1, label=None if index else "alert")
    axes.set_xlabel("seconds")
    axes.set_ylabel("°C")
    axes.legend(loc="lower right")
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A sensor that speaks nng gets alerts back.")
    parser.add_argument("--to", type=Path, help="draw the temperature to this file, such as boiler.png")
    to: Path | None = parser.parse_args(arguments).to

    # Spark ends its reader, which still writes to the spool, a moment after the query.
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as folder, aeron_core.MediaDriver.launch_embedded() as driver:
        file = Path(folder) / "pipeline.toml"
        template = Template(Path(__file__).with_name("pipeline.toml").read_text(encoding="utf-8"))
        values = {"folder": folder, "channel": CHANNEL, "aeron_dir": driver.aeron_dir}
        file.write_text(template.substitute(values), encoding="utf-8")
        pipeline = load_pipeline(file)
        spark = session(name=pipeline.name, settings={**SETTINGS, **pipeline.settings})
        try:
            boiler = run(spark, pipeline)
        finally:
            spark.stop()
    print_table(boiler)
    if to is not None:
        draw(boiler, to)
        print(f"drawn to {to}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
