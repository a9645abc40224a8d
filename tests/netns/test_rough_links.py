"""Streams over links with delay (20 ms ± 10), loss (5 %), duplication (2 %) and reordering (10 %)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.netns

RECEIVERS = range(1, 9)
COUNT = 400
MIN = "|fc=min,g:/8"
GROUP = "aeron:udp?endpoint=224.0.1.79:20131|interface=10.77.0.0/24"


def unicast(machines, index=None):
    return endpoint(machines, 1)


def multicast(machines, index=None):
    return GROUP + (MIN if index is None else "")


def dynamic(machines, index=None):
    control = f"control={machines.address(0)}:20130|control-mode=dynamic"
    return f"aeron:udp?{control}" + (MIN if index is None else f"|endpoint={machines.address(index)}:20131")


def endpoint(machines, index):
    return f"aeron:udp?endpoint={machines.address(index)}:20131"


def manual(machines, index=None):
    """Return the channel of a receiver, or of the sender with all receivers."""
    if index is not None:
        return endpoint(machines, index)
    return " ".join([f"aeron:udp?control-mode=manual{MIN}", *(endpoint(machines, to) for to in RECEIVERS)])


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize(
    ("channel_of", "indices"),
    [(unicast, (1,)), (multicast, RECEIVERS), (dynamic, RECEIVERS), (manual, RECEIVERS)],
    ids=["unicast", "multicast", "learnt destinations", "named destinations"],
)
def test_everything_arrives_once_and_in_order(machines, start, channel_of, indices):
    receivers = [start(index, "receive", channel_of(machines, index), COUNT, 0) for index in indices]
    for receiver in receivers:
        receiver.await_output(ready=True)

    awaited = len(receivers) if len(receivers) > 1 else 0
    sender = start(0, "send", channel_of(machines), COUNT, awaited)

    sent = sender.await_output(sent=COUNT, timeout=120)
    found = [receiver.await_output(last=None, timeout=120) for receiver in receivers]
    everything = {"first": 0, "last": COUNT - 1, "is_in_order": True, "sha256": sent["sha256"]}
    assert [{key: result[key] for key in everything} for result in found] == [everything] * len(receivers)
    # A round trip takes 40 ms and transfers at most a window of 32 kB: a faster run had unimpaired links.
    assert all(result["seconds"] > 0.25 for result in found)
