"""Recordings read by the executors of a cluster, each a separate process, and kills of executors.

Tests of a cluster share one application, because each one takes a Java machine for the driver and for every executor.
Rounds of kills: AERON_CORE_KILL_ROUNDS, default 1. An executor is killed at a random position, within a batch.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
SINKS = ("parquet", "aeron")
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
TERMS = 16
TIMEOUT_S = 240


@pytest.fixture
def archive(written):
    for _ in range(TERMS):
        written.fill_term(100)
    return written.store.folder


def check_readers(application):
    """Assert that all rows were read once, by at least two executors."""
    seen = application.readers()
    counts, executors, are_executors = zip(*seen["partitions"], strict=True)
    assert seen["rows"] == sum(counts) == application.rows
    assert all(are_executors)
    assert len(set(executors)) >= 2


@pytest.mark.system
def test_the_executors_of_a_local_cluster_read(application):
    check_readers(application(LOCAL_CLUSTER))


@pytest.mark.system
def test_every_message_exists_once_after_kills_of_executors(request, application):
    shared = application(LOCAL_CLUSTER)
    program, copies = shared.program, shared.copies
    shared.readers()

    for number in range(ROUNDS):
        executor = random.choice(program.wait_until(program.executors))
        before = copies.state()
        program.wait_until(lambda number=number: copies.is_within_batch(SINKS[number % 2]))
        os.kill(executor, signal.SIGKILL)
        program.wait_until(lambda before=before: copies.are_past(before))
    copies.finish(program)

    count = copies.check(request.getfixturevalue("spark"))
    lost = program.log.read_text().count("Lost task")
    print(f"{ROUNDS} kills of executors, {lost} tasks lost in {copies.state()} batches: {count} messages")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Standalone:
    """A master, and two workers with one executor each."""

    master: str
    workers: list[subprocess.Popen]


@pytest.fixture(scope="module")
def standalone(tmp_path_factory):
    """Return a master with two workers, as the package from PyPI starts them."""
    import pyspark  # noqa: PLC0415
    from pyspark_aeron.session import prepare_environment  # noqa: PLC0415

    prepare_environment()
    home = Path(pyspark.__file__).parent
    folder = tmp_path_factory.mktemp("standalone")
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:

        def start(name, *arguments):
            log = stack.enter_context((folder / f"{name}.log").open("w"))
            process = subprocess.Popen(
                [home / "bin" / "spark-class", *map(str, arguments)],
                env=environment | {"SPARK_WORKER_DIR": str(folder / name)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            return process

        deploy = "org.apache.spark.deploy"
        start("master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0)
        worker = (f"{deploy}.worker.Worker", "--host", "127.0.0.1", "-c", 1, "-m", "1g", "--webui-port", 0)
        workers = [start(f"worker-{number}", *worker, master) for number in (1, 2)]
        logs = [folder / f"worker-{number}.log" for number in (1, 2)]
        deadline_s = time.monotonic() + TIMEOUT_S
        while not all("Successfully registered with master" in log.read_text() for log in logs):
            assert time.monotonic() < deadline_s, logs[0].read_text()
            time.sleep(0.1)
        yield Standalone(master, workers)


# Before the tests of the application, which takes all cores of the cluster.
@pytest.mark.system
def test_a_pipeline_runs_on_a_standalone_cluster(standalone, archive, tmp_path):
    file = tmp_path / "pipeline.toml"
    file.write_text(f"""
name = "copy"
master = "{standalone.master}"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"
settings = {{ "spark.log.level" = "ERROR", "spark.cores.max" = 1 }}

[sources.log]
archive = "{archive}"
options = {{ minPartitions = 4 }}

[[sinks]]
from = "log"
path = "{tmp_path}/copy"
""")

    ended = subprocess.run(
        [sys.executable, "-m", "aeron_core", "pipeline", "run", file, "--json"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert sum(json.loads(line)["rows"] for line in ended.stdout.splitlines()) == TERMS * 409


@pytest.mark.system
def test_the_workers_of_a_standalone_cluster_read(standalone, application):
    check_readers(application(standalone.master))


@pytest.mark.system
def test_a_query_continues_when_a_worker_is_killed_with_its_executor(
    request, standalone, application, processes_of
):
    shared = application(standalone.master)
    program, copies = shared.program, shared.copies
    worker = standalone.workers[0].pid
    begin = copies.state()
    program.wait_until(lambda: copies.are_past(begin) and copies.is_within_batch("parquet"))

    for pid in [worker, *processes_of(worker, "CoarseGrainedExecutorBackend")]:
        os.kill(pid, signal.SIGKILL)
    before = copies.state()
    program.wait_until(lambda: copies.are_past(before))
    copies.finish(program)

    copies.check(request.getfixturevalue("spark"))
