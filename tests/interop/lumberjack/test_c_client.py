"""The real C client at a driver of ours: a Lumberjack channel is a channel to it like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

import aeron_core

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
CHANNEL = "aeron:lumberjack?endpoint=127.0.0.1:0"


@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → C client")
def test_the_c_client_gets_the_events_of_a_writer(start, told, our_driver, foreign_python, peers_python):
    directory, count = our_driver(), 1000
    subscriber = start(foreign_python, PEERS / "c_client.py", directory, CHANNEL, 7, count)
    subscriber.await_line("ready")
    with aeron_core.connect(directory) as aeron:
        (label,) = [
            record.label for record in aeron.counters_reader if record.label.startswith("rcv-local-sockaddr")
        ]
    port = int(label.rpartition(":")[2])

    writer = start(peers_python, PEERS / "writers.py", "pylogbeat", port, count, 50)

    assert told(subscriber)["payloads"] == told(writer)["payloads"]
