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
    *(ROOT / "aeron_core" / "cli").rglob("*.py"),
    *(ROOT / "plugins/spark/pyspark_aeron/pipeline").glob("*.py"),
]


@pytest.fixture
def directory():
    with aeron_core.MediaDriver.launch_embedded() as driver:
        yield driver.aeron_dir


def name_at(directory):
    """Return the name of the only client, once its conductor has written it."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        clients = clients_of(DriverFiles.open(directory).counters, 0).values()
        if any(client.name for client in clients):
            (client,) = clients
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


def test_every_command_connects_with_its_own_name():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in MODULES}
    unnamed = re.compile(r"^from aeron_core.client.connecting import .*\bconnect\b", re.MULTILINE)
    named = re.compile(r"connect_(?:as|to_driver|to_next_driver)\(\"([^\"]+)\"")

    commands = {command for text in texts.values() for command in named.findall(text)}

    assert [path for path, text in texts.items() if unnamed.search(text)] == ["aeron_core/cli/connecting.py"]
    assert commands == {
        *("archive", "bench", "demo", "device", "ping", "pong", "pub", "record", "replay", "ship", "sub"),
        "pipeline demo",
    }
