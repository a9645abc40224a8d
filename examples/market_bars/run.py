"""Market data by multicast into an Aeron Archive, and from there into bars of a second in a table of Delta Lake.

    make -C examples/market_bars
    make -C examples/market_bars OPTIONS='--java aeron-all-1.51.0.jar'

An exchange publishes trades as SBE messages. `aeron-core archive`, or Aeron Archive in Java, records the multicast; the
pipeline in pipeline.toml, on Spark, replays the live recording, and merges the bars of each symbol into the table.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from string import Template

from pyspark.sql import Row, SparkSession
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.definition import Pipeline, load_pipeline
from pyspark_aeron.session import session

import aeron_core
from aeron_core.archive import AeronArchive, SourceLocation

GROUP = "aeron:udp?endpoint=224.0.1.77:20147|interface=127.0.0.1"
STREAM_ID = 1001
CONTROL = "aeron:udp?endpoint=127.0.0.1:20148"
DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
# The header of a message in trades.xml, and its block: number, time in ns, price, size, symbol.
HEADER = struct.pack("<4H", 36, 1, 91, 0)
TRADE = struct.Struct("<qqdi8s")
PRICES = {"AERN": 100.0, "BEAT": 41.0, "SPIN": 7.5}
TRADES_PER_S = 500
SECONDS = 12
# Java's options are those of a program that ends after seconds: omit them for a pipeline that runs for days.
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Exchange(threading.Thread):
    """Publishes trades at a fixed rate, with a media driver of its own."""

    def __init__(self) -> None:
        super().__init__(name="exchange", daemon=True)
        self.is_over = threading.Event()
        self.is_complete = threading.Event()
        self.is_recorded = threading.Event()
        self.trades = 0
        self.position = 0

    def run(self) -> None:
        try:
            self._publish()
        finally:
            self.is_complete.set()

    def _publish(self) -> None:
        chance, prices = random.Random(7), dict(PRICES)
        with (
            aeron_core.MediaDriver.launch_embedded() as driver,
            aeron_core.connect(driver.aeron_dir) as aeron,
        ):
            publication = aeron.add_publication(GROUP, STREAM_ID)
            publication.await_connected(timeout=20)
            start_s = time.monotonic()
            while not self.is_over.wait(0.005):
                due = int((time.monotonic() - start_s) * TRADES_PER_S)
                while self.trades < due:
                    symbol = chance.choice(list(prices))
                    prices[symbol] *= 1 + chance.gauss(0, 0.0004)
                    price, size = round(prices[symbol], 2), chance.randrange(1, 500)
                    trade = TRADE.pack(self.trades, time.time_ns(), price, size, symbol.encode())
                    self.position = publication.send(HEADER + trade, timeout=10)
                    self.trades += 1
            self.is_complete.set()
            # Until then the archive may request lost data again.
            self.is_recorded.wait()


@contextmanager
def running_archive(folder: Path, jar: Path | None) -> Generator[Path]:
    """Run an archive with a driver of its own, in another process; yield the directory of the driver."""
    aeron_dir, recordings = folder / "driver", folder / "archive"
    if jar is None:
        command = [sys.executable, "-m", "aeron_core", "archive", str(recordings), "--embedded"]
        command += ["--aeron-dir", str(aeron_dir), "--control-channel", CONTROL]
    else:
        properties = {
            "aeron.dir": aeron_dir,
            "aeron.archive.dir": recordings,
            "aeron.archive.control.channel": CONTROL,
            "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
        }
        command = ["java", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"]
        command += [f"-D{name}={value}" for name, value in properties.items()]
        command += ["-cp", str(jar), "io.aeron.archive.ArchivingMediaDriver"]
    # A session of its own: Ctrl-C ends this program, which then ends the archive.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        while not (aeron_dir / "cnc.dat").exists():
            if process.poll() is not None:
                raise SystemExit(f"the archive has ended: {' '.join(command)}")
            time.sleep(0.1)
        yield aeron_dir
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(spark: SparkSession, pipeline: Pipeline, archive: AeronArchive) -> tuple[int, list[Row]]:
    """Run the pipeline while the exchange publishes; return the number of trades, and the bars of all of them."""
    exchange = Exchange()
    archive.start_recording(GROUP, STREAM_ID, SourceLocation.REMOTE)
    queries = build(pipeline, spark).start()
    try:
        print(f"the pipeline runs; the exchange publishes {TRADES_PER_S} trades a second", flush=True)
        exchange.start()
        time.sleep(SECONDS)
        exchange.is_over.set()
        exchange.is_complete.wait()
        (recording,) = archive.list_recordings()
        while archive.max_recorded_position(recording.recording_id) < exchange.position:
            time.sleep(0.1)
        exchange.is_recorded.set()
        exchange.join()
        for query in queries:
            query.processAllAvailable()
    finally:
        exchange.is_over.set()
        exchange.is_recorded.set()
        for query in queries:
            query.stop()
    bars = spark.read.format("delta").load(pipeline.sinks[0].path)
    return exchange.trades, bars.orderBy("symbol", "begin").collect()


def print_table(trades: int, bars: Sequence[Row]) -> None:
    print(
        f"{'symbol':<8}{'begin':>10}{'open':>9}{'high':>9}{'low':>9}{'close':>9}{'volume':>10}{'trades':>8}"
    )
    for symbol in PRICES:
        for bar in [bar for bar in bars if bar["symbol"] == symbol][-2:]:
            prices = "".join(f"{bar[name]:9.2f}" for name in ("open", "high", "low", "close"))
            print(f"{symbol:<8}{bar['begin']:%H:%M:%S}  {prices}{bar['volume']:10,}{bar['trades']:8,}")
    counted = sum(bar["trades"] for bar in bars)
    print(f"\n{trades:,} trades were published, the {len(bars)} bars in the table count {counted:,}")


def draw(bars: Sequence[Row], path: Path) -> None:
    """Draw the bars of each symbol to a file, in a format that its suffix names."""
    import matplotlib.pyplot as plt  # the extra plots

    begin = min(bar["begin"] for bar in bars)
    figure, axes = plt.subplots(len(PRICES), sharex=True, figsize=(8, 6), layout="constrained")
    for axis, symbol in zip(axes, PRICES, strict=True):
        for bar in (bar for bar in bars if bar["symbol"] == symbol):
            second = (bar["begin"] - begin).total_seconds()
            color = "tab:green" if bar["close"] >= bar["open"] else "tab:red"
            axis.vlines(second, bar["low"], bar["high"], color=color, linewidth=1)
            axis.vlines(second, bar["open"], bar["close"], color=color, linewidth=9)
        axis.set_title(symbol, loc="left")
        axis.set_ylabel("price")
    axes[-1].set_xlabel("seconds")
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Market data by multicast into bars in a table of Delta Lake."
    )
    parser.add_argument("--to", type=Path, help="draw the bars to this file, such as bars.png")
    parser.add_argument(
        "--jars", help="jars of Delta Lake, separated by commas (default: Spark downloads them)"
    )
    parser.add_argument(
        "--java", type=Path, metavar="JAR", help="record with Aeron Archive, from aeron-all.jar"
    )
    chosen = parser.parse_args(arguments)
    jars = {"spark.jars": chosen.jars} if chosen.jars else {"spark.jars.packages": DELTA}

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        running_archive(folder := Path(name), chosen.java) as aeron_dir,
        aeron_core.connect(aeron_dir) as aeron,
        AeronArchive.connect(
            aeron, control_request_channel="aeron:ipc", control_response_channel="aeron:ipc"
        ) as archive,
    ):
        here, file = Path(__file__).parent, folder / "pipeline.toml"
        template = Template((here / "pipeline.toml").read_text(encoding="utf-8"))
        values = {"folder": folder, "aeron_dir": aeron_dir, "schema": here / "trades.xml"}
        file.write_text(template.substitute(values), encoding="utf-8")
        pipeline = load_pipeline(file)
        spark = session(name=pipeline.name, settings={**SETTINGS, **pipeline.settings, **jars})
        try:
            trades, bars = run(spark, pipeline, archive)
        finally:
            spark.stop()
    print_table(trades, bars)
    if chosen.to is not None:
        draw(bars, chosen.to)
        print(f"drawn to {chosen.to}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
