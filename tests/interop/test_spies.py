"""Spies: our and the real client read a publication of the same driver, ours or the real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from messages import expected_checksum

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 20_000


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


@pytest.mark.compatible("spies, alone (ssc)", "{publisher} → {driver_driver} → {spy}")
@pytest.mark.parametrize(
    ("driver", "publisher", "spy"),
    [
        ("ours", "theirs", "theirs"),
        ("ours", "ours", "theirs"),
        ("ours", "theirs", "ours"),
        ("theirs", "ours", "ours"),
    ],
)
def test_a_spy_alone_reads_all_that_is_published(
    start, our_driver, foreign_driver, clients, udp_channel, driver, publisher, spy
):
    directory = our_driver() if driver == "ours" else foreign_driver()
    spying = start(*clients[spy], "receive", directory, f"aeron-spy:{udp_channel}", 1001, COUNT)
    spying.await_line("ready")

    sending = start(*clients[publisher], "send", directory, f"{udp_channel}|ssc=true", 1001, COUNT)

    assert sending.result() == {"sent": COUNT}
    assert spying.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.compatible("spies, beside a receiver", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_spy_and_a_receiver_read_the_same(start, our_driver, foreign_driver, clients, udp_channel, driver):
    start_driver, start_other = (
        (our_driver, foreign_driver) if driver == "ours" else (foreign_driver, our_driver)
    )
    directory, other = start_driver(), start_other()
    client = clients["theirs" if driver == "ours" else "ours"]
    readers = [
        start(*client, "receive", directory, f"aeron-spy:{udp_channel}", 1001, COUNT),
        start(*client, "receive", other, udp_channel, 1001, COUNT),
    ]
    for reader in readers:
        reader.await_line("ready")

    # The driver of pyaeron simulates connections by default: the spy alone would start the sender, and the
    # receiver, which joins at position 0, would be refused as too far behind.
    sending = start(*client, "send", directory, f"{udp_channel}|ssc=false", 1001, COUNT)

    assert sending.result() == {"sent": COUNT}
    for reader in readers:
        assert reader.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}
