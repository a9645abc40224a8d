"""Spark Connect: the queries run in a server, and the program is a thin client.

Most tests check the results of one client of one server.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark_aeron import connect as connect_module
from pyspark_aeron.session import prepare_environment, session, session_settings

from aeron_core.errors import ConfigurationError
from aeron_core.testing.recordings import RecordingUnderTest

pytest.importorskip("grpc", reason="needs grpcio: pip install aeron-core[spark-connect]")

PROGRAM = Path(__file__).parent / "programs" / "connecting.py"
ROOTS = Path(__file__).parents[3]
TERMS = 2
TIMEOUT_S = 240


def environment():
    path = os.pathsep.join([str(ROOTS / "plugins/spark"), str(ROOTS), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


@contextmanager
def connect_server(folder):
    """Start the server of the package from PyPI on a port chosen by the system, and yield its URL."""
    import pyspark  # noqa: PLC0415

    prepare_environment()
    home = Path(pyspark.__file__).parent
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    confs = [f"--conf={key}={value}" for key, value in (session_settings("local") | settings).items()]
    log = folder / "server.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [
                home / "bin/spark-submit",
                "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
                "--master=local[2]",
                *confs,
            ],
            env=environment() | {"SPARK_HOME": str(home)},
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not (found := re.search(r"Spark Connect server started at: \S*:(\d+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{found[1]}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory):
    """Return the results of a client that has read, streamed, written and listened."""
    folder = tmp_path_factory.mktemp("seen")
    recording = RecordingUnderTest.begin(folder / "archive")
    for _ in range(TERMS):
        recording.fill_term(100)
    ended = subprocess.run(
        [sys.executable, PROGRAM, server, folder / "archive", folder / "out"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.system
def test_a_server_finds_the_format_by_itself_and_by_registration(seen):
    assert seen["session"] == "pyspark.sql.connect.session"
    assert seen["found"] == seen["registered"] == TERMS * 409


@pytest.mark.system
def test_a_stream_goes_through_a_decoder_into_a_table(seen):
    assert seen["table"] == [TERMS * 409] * 2


@pytest.mark.system
def test_a_stream_goes_into_a_recording(seen):
    assert seen["copy"] == TERMS * 409


@pytest.mark.system
def test_a_listener_in_the_client_receives_the_lag(seen):
    # Spark 4.1 sets no limits for data sources in Python: it takes all in one batch.
    behind = [] if pyspark.__version__.startswith("4.1.") else [["table", 65536, "aeron:ipc"]]
    assert seen["reports"] == [*behind, ["table", 0, "aeron:ipc"]]


@pytest.mark.system
def test_errors_reach_the_client(seen):
    assert "nowhere: there is no archive of recordings" in seen["error"]


PIPELINE = """
name = "copy"
master = "local[1]"
checkpoint = "{tmp}/checkpoint"
trigger = "available-now"
settings = {{ "spark.sql.shuffle.partitions" = 1, "spark.sql.session.timeZone" = "Asia/Tokyo" }}

[sources.log]
archive = "{archive}"
decode = "utf8"

[[steps]]
name = "seen"
sql = "SELECT position, text, date_format(ts, 'HH') AS hour FROM log"

[[sinks]]
from = "seen"
path = "{tmp}/seen"
"""


@pytest.mark.system
def test_a_pipeline_runs_on_a_server(server, written, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    written.append(b"error: disk", b"all is well")
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE.format(tmp=tmp_path, archive=written.store.folder))

    ended = subprocess.run(
        [sys.executable, "-m", "aeron_core", "pipeline", "run", file, "--master", server, "--json"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    progress = [json.loads(line) for line in ended.stdout.splitlines()]
    assert sum(batch["rows"] for batch in progress) == 2, ended.stdout + ended.stderr
    assert [stream["channel"] for stream in progress[0]["streams"]] == ["aeron:ipc"]
    # 22:13 in UTC: settings of the file go to the server.
    (written_file,) = (tmp_path / "seen").glob("*.parquet")
    assert pq.read_table(written_file).to_pylist() == [
        {"position": 64, "text": "error: disk", "hour": "07"},
        {"position": 128, "text": "all is well", "hour": "07"},
    ]


def test_a_server_that_does_not_answer_is_reported_soon(monkeypatch):
    monkeypatch.setattr(connect_module, "_ANSWER_TIMEOUT_S", 0.1)
    with socket.socket() as held:  # bound but not listening: no other process can get the port
        held.bind(("127.0.0.1", 0))
        url = f"sc://127.0.0.1:{held.getsockname()[1]}"

        with pytest.raises(ConfigurationError, match=r"master sc://.*: no Spark Connect server answered"):
            session(url)


def test_an_invalid_address_is_refused():
    with pytest.raises(ConfigurationError, match="master sc://host:port: "):
        session("sc://host:port")


def test_missing_packages_are_named_with_the_command_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'aeron-core\[spark-connect\]'"):
        session("sc://127.0.0.1:15002")


def test_a_client_sends_only_sql_settings():
    assert {name.partition(".sql.")[0] for name in session_settings("sc://host")} == {"spark"}
