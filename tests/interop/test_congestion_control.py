"""Round-trip measurement between our driver and the real one, in both directions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import aeron_core
from aeron_core.concurrent.counters import CountersReader
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

DEADLINE_S = 30
CUBIC = {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"}
SUPPLIER = {"AERON_CONGESTIONCONTROL_SUPPLIER": "aeron_cubic_congestion_control_strategy_supplier"}


def counter_of(directory: Path, prefix: str) -> int:
    cnc = CncFile.open(directory / CNC_FILE)
    counters = CountersReader(cnc.counters_metadata, cnc.counters_values)
    return max((record.value for record in counters if record.label.startswith(prefix)), default=0)


@pytest.mark.compatible("cubic congestion control, by {by}", "{sender_driver} → {receiver_driver}")
@pytest.mark.parametrize("by", ["channel", "setting"])
@pytest.mark.parametrize(
    ("sender", "receiver"), [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")]
)
def test_a_cubic_receiver_measures_the_round_trip_to_a_sender(
    our_driver, foreign_driver, udp_channel, sender, receiver, by
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    send_dir = drivers[sender]()
    receive_dir = drivers[receiver](**CUBIC, **(SUPPLIER if by == "setting" else {}))
    channel = udp_channel if by == "setting" else f"{udp_channel}|cc=cubic"

    with aeron_core.connect(send_dir) as publisher, aeron_core.connect(receive_dir) as subscriber:
        subscription = subscriber.add_subscription(channel, 1001)
        publication = publisher.add_publication(udp_channel, 1001)
        publication.await_connected(timeout=DEADLINE_S)
        received = sent = rtt_ns = 0
        deadline = time.monotonic() + DEADLINE_S
        while (rtt_ns == 0 or received < 10_000) and time.monotonic() < deadline:
            sent += publication.offer(bytes(1000)) > 0
            received += subscription.poll(lambda *_: None, 50)
            rtt_ns = rtt_ns or counter_of(receive_dir, "rcv-cc-cubic-rtt")
        window = counter_of(receive_dir, "rcv-cc-cubic-wnd")

    assert received >= 10_000
    assert 1_000 < rtt_ns < 1_000_000_000
    assert window > 0
    assert window % 1408 == 0
