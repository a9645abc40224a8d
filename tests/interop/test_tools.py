"""The tools print the same for the directories of the real driver and of ours, alive and killed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import aeron_core

pytestmark = pytest.mark.interop

COUNT = 100
#: Both drivers refuse it with the same message.
WRONG_CHANNEL = "aeron:udp?endpoint=127.0.0.1:1|mtu=70000"


def tool(name, *arguments, directory=None):
    """Run a tool in a separate process, without additional privileges."""
    where = () if directory is None else ("-d", str(directory))
    command = [sys.executable, "-m", "aeron_core", name, *map(str, arguments), *where]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def json_output(name, *arguments, directory=None):
    outcome = tool(name, *arguments, "--json", directory=directory)
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def work(directory, channel):
    """Run a stream and cause an error in a driver; yield the publication while it is open."""
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(channel, 1001)
        publication = aeron.add_publication(channel, 1001)
        subscription.await_connected(30)
        publication.await_connected(30)
        with pytest.raises(aeron_core.RegistrationError):
            aeron.add_publication(WRONG_CHANNEL, 1001)
        received = sent = 0
        while received < COUNT:
            sent += sent < COUNT and publication.offer(bytes(100)) > 0
            received += subscription.poll(lambda buffer, header: None)
        yield publication


def check(directory, publication):
    """Return the output of all tools; they only read."""
    session, end = publication.session_id, publication.position
    counters = json_output("stat", "--session", session, "--type", "sub-pos", directory=directory)["counters"]
    (stream,) = json_output("streams", "--stream", 1001, directory=directory)
    backlogs = json_output("backlog", "--session", session, directory=directory)
    errors = json_output("errors", directory=directory)
    (log,) = (directory / "publications").glob("*.logbuffer")
    frames = json_output("log-inspect", log, "--term", 0)
    metrics = tool("stat", "--format", "prometheus", directory=directory).stdout

    assert [counter["value"] for counter in counters] == [end]
    assert (stream["session_id"], stream["stream_id"]) == (session, 1001)
    assert stream["publications"][0]["position"] == end
    assert backlogs
    assert any("mtu" in error["text"] for error in errors)
    assert json_output("loss", directory=directory) == []
    assert (frames["session_id"], frames["stream_id"], frames["mtu_length"]) == (session, 1001, 1408)
    assert f'session_id="{session}"' in metrics


@pytest.mark.compatible("tools, of a live and of a killed driver", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_the_tools_read_the_directory_of_a_live_and_a_killed_driver(
    our_driver, foreign_driver, udp_channel, driver
):
    start = our_driver if driver == "ours" else foreign_driver
    directory = start()
    for publication in work(directory, udp_channel):
        check(directory, publication)
        alive = tool("clean", directory=directory)
        start.peers[-1].kill()
        check(directory, publication)

    assert (alive.returncode, "active media driver" in alive.stderr) == (1, True)


@pytest.mark.compatible("terminate, denied by default", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_driver_ignores_a_termination_request_by_default(our_driver, foreign_driver, driver):
    start = our_driver if driver == "ours" else foreign_driver
    directory = start()

    outcome = tool("terminate", "--timeout", 1, directory=directory)

    assert (outcome.returncode, "TERMINATION_VALIDATOR" in outcome.stderr) == (1, True)
    assert start.peers[-1].process.poll() is None
    with aeron_core.connect(directory) as aeron:
        assert not aeron.is_closed
