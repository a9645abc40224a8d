"""Names of the clients that commands are, which `top` and the dashboard show."""

import re
import time
from pathlib import Path

import pytest

import aeron_core
from aeron_core.cli.connecting import connect_as, connect_to_driver, connect_to_next_driver
from aeron_core.observation.clients import clients_of
from aeron_core.observation.driver_files import DriverFiles

ROOT = Path(__file__).parents[2]
MODULES = [
    path
    for folder in ("aeron_core/cli", "aeron_core/archive", "aeron_core/recording", "plugins/spark")
    for path in (ROOT / folder).rglob("*.py")
]


@pytest.fixture
def directory():
    with aeron_core.MediaDriver.launch_embedded() as driver:
        yield driver.aeron_dir


def name_at(directory, expected=""):
    """Return the name of the only client, or of that with the expected name, once its conductor has written it."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        clients = clients_of(DriverFiles.open(directory).counters, 0).values()
        named = [client for client in clients if client.name and expected in ("", client.name)]
        if named:
            (client,) = named
            return client.name
        time.sleep(0.01)
    raise AssertionError("the client has no name after 10 s")


@pytest.mark.parametrize(
    "connected",
    [
        lambda directory: connect_as("pub", directory),
        lambda directory: connect_to_driver("pub", directory),
        lambda directory: connect_to_next_driver("pub", directory),
    ],
)
def test_the_client_of_a_command_is_named_after_it(directory, connected):
    with connected(directory) as aeron:
        aeron.add_subscription("aeron:ipc", 1)

        assert name_at(directory) == "aeron-core pub"


def test_the_name_of_the_environment_is_that_of_the_client_of_a_command(directory, monkeypatch):
    monkeypatch.setenv("AERON_CLIENT_NAME", "prices")

    with connect_as("pub", directory) as aeron:
        aeron.add_subscription("aeron:ipc", 1)

        assert name_at(directory) == "prices"


def test_the_client_of_a_driver_that_records_is_named(tmp_path):
    sections = {"recording": {"streams": ["aeron:ipc 1001"], "to": str(tmp_path / "archive")}}

    with aeron_core.MediaDriver.launch_embedded(sections=sections) as driver:
        assert name_at(driver.aeron_dir) == "recording"


def test_clients_of_a_spark_source_and_a_sink_are_named(directory, tmp_path):
    live_spool = pytest.importorskip("pyspark_aeron.reading.live_spool")
    from pyspark_aeron.options import SourceOptions  # noqa: PLC0415 - needs Spark
    from pyspark_aeron.writing import publishing  # noqa: PLC0415 - needs Spark

    options = {"channel": "aeron:ipc", "streamid": "1", "archive": str(tmp_path), "aerondir": str(directory)}
    spool = live_spool.LiveSpool(SourceOptions.parse(options))
    try:
        assert name_at(directory) == "spark live"
    finally:
        spool.close()
    sink = publishing._client(str(directory))
    try:
        sink.add_subscription("aeron:ipc", 1)
        assert name_at(directory, "spark sink") == "spark sink"
    finally:
        publishing._clients.clear()
        sink.close()


def test_every_client_that_the_package_opens_has_a_name():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in MODULES}
    unnamed = re.compile(r"^from aeron_core.client.connecting import .*\bconnect\b", re.MULTILINE)
    named = re.compile(r"connect_(?:as|named|to_driver|to_next_driver)\(\"([^\"]+)\"")

    commands = {command for text in texts.values() for command in named.findall(text)}

    assert [path for path, text in texts.items() if unnamed.search(text)] == []
    assert commands == {
        *("archive", "bench", "demo", "device", "ping", "pong", "pub", "record", "replay", "ship", "sub"),
        *("archive reader", "pipeline demo", "recording", "spark live", "spark sink"),
    }
