"""Untethered subscribers: both drivers notify clients alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
TIMEOUTS = "untethered-window-limit-timeout=1100ms|untethered-linger-timeout=1100ms|untethered-resting-timeout=1100ms"


@pytest.mark.compatible("untethered subscription", "C client, {driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_an_untethered_client_that_stalls_is_detached_and_rejoins(
    start, our_driver, foreign_driver, foreign_python, driver
):
    directory = our_driver() if driver == "ours" else foreign_driver()
    theirs = (foreign_python, PEERS / "foreign.py")
    reader = start(*theirs, "watch", directory, "aeron:ipc", 1001)
    stalled = start(*theirs, "stall", directory, "aeron:ipc?tether=false", 1001)
    for peer in (reader, stalled):
        peer.await_line("ready")
    start(sys.executable, PEERS / "ours.py", "send", directory, f"aeron:ipc?{TIMEOUTS}", 1001, 100_000_000)

    stalled.await_line("unavailable")
    stalled.lines.clear()
    stalled.await_line("available")

    assert "unavailable" not in reader.lines
