"""Runs our command-line tools on the directory of a driver, ours or another, and checks their output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aeron_core

COUNT = 100
#: All drivers refuse it with the same message.
WRONG_CHANNEL = "aeron:udp?endpoint=127.0.0.1:1|mtu=70000"


def run_tool(
    name: str, *arguments: object, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool in a separate process, without additional privileges."""
    where = () if directory is None else ("-d", str(directory))
    command = [sys.executable, "-m", "aeron_core", name, *map(str, arguments), *where]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def json_output(name: str, *arguments: object, directory: Path | None = None) -> Any:
    """Return what a tool prints as JSON."""
    outcome = run_tool(name, *arguments, "--json", directory=directory)
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def open_stream(directory: Path, channel: str) -> Iterator[aeron_core.Publication]:
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


def check_tools(directory: Path, publication: aeron_core.Publication) -> None:
    """Check the output of all tools that only read."""
    session, end = publication.session_id, publication.position
    counters = json_output("stat", "--session", session, "--type", "sub-pos", directory=directory)["counters"]
    (stream,) = json_output("streams", "--stream", 1001, directory=directory)
    backlogs = json_output("backlog", "--session", session, directory=directory)
    errors = json_output("errors", directory=directory)
    (log,) = (directory / "publications").glob("*.logbuffer")
    frames = json_output("log-inspect", log, "--term", 0)
    metrics = run_tool("stat", "--format", "prometheus", directory=directory).stdout

    assert [counter["value"] for counter in counters] == [end]
    assert (stream["session_id"], stream["stream_id"]) == (session, 1001)
    assert stream["publications"][0]["position"] == end
    assert backlogs
    assert any("mtu" in error["text"] for error in errors)
    assert json_output("loss", directory=directory) == []
    assert (frames["session_id"], frames["stream_id"], frames["mtu_length"]) == (session, 1001, 1408)
    assert f'session_id="{session}"' in metrics
