"""Messages of a writer of SP, read by a pipeline while they come."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time

import pynng
import pytest
from pyarrow import ArrowInvalid, parquet

TIMEOUT_S = 240
COUNT = 300
PIPELINE = """
name = "readings"
master = "local[2]"
checkpoint = "{folder}/checkpoint"
trigger = "1 second"
settings = {{ "spark.log.level" = "ERROR", "spark.sql.shuffle.partitions" = 1 }}

[sources.readings]
archive = "{folder}/spool"
options = {{ live = true, channel = "{channel}", streamId = 7, aeronDir = "{aeron_dir}" }}

[[steps]]
name = "texts"
sql = "SELECT CAST(payload AS STRING) AS text FROM readings"

[[sinks]]
from = "texts"
format = "parquet"
path = "{folder}/texts"
"""


def until(condition):
    deadline_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture
def pipeline():
    """Run a pipeline until the test is over."""
    processes = []

    def start(path):
        command = [sys.executable, "-m", "aeron_core", "pipeline", "run", str(path)]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE))

    yield start
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)


@pytest.mark.system
@pytest.mark.interop
def test_an_sp_channel_is_a_live_source_of_a_pipeline(pipeline, driver, tmp_path):
    with pynng.Pair1(listen=f"ipc://{tmp_path}/pair", send_timeout=60_000) as writer:
        channel = f"aeron:sp?transport=ipc|path={tmp_path}/pair|mode=dial|term-length=1m"
        path = tmp_path / "pipeline.toml"
        path.write_text(PIPELINE.format(folder=tmp_path, channel=channel, aeron_dir=driver.aeron_dir))
        pipeline(path)

        # Each waits until there is room for it, the first until the pipeline is there.
        for number in range(COUNT):
            writer.send(b"reading %d" % number)

        def texts():
            found = []
            for file in (tmp_path / "texts").glob("*.parquet"):
                # One that is still being written has no end that says what is in it.
                with contextlib.suppress(ArrowInvalid):
                    found += parquet.read_table(file).column("text").to_pylist()
            return found

        until(lambda: sorted(texts()) == sorted(f"reading {number}" for number in range(COUNT)))
