"""The real C client uses a Lumberjack channel of our driver."""

from __future__ import annotations

from pathlib import Path

import pytest

import aeron_core

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
CHANNEL = "aeron:lumberjack?endpoint=127.0.0.1:0"


@pytest.mark.compatible("Lumberjack", "pylogbeat → our driver → C client")
def test_the_c_client_receives_events(start, output_of, our_driver, foreign_python, peers_python):
    directory, count = our_driver(), 1000
    subscriber = start(foreign_python, PEERS / "c_client.py", directory, CHANNEL, 7, count)
    subscriber.await_line("ready")
    with aeron_core.connect(directory) as aeron:
        (label,) = [
            record.label for record in aeron.counters_reader if record.label.startswith("rcv-local-sockaddr")
        ]
    port = int(label.rpartition(":")[2])

    writer = start(peers_python, PEERS / "writers.py", "pylogbeat", port, count, 50)

    assert output_of(subscriber)["payloads"] == output_of(writer)["payloads"]
