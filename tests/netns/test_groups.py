"""One sender and eight receivers on separate machines: some are slow, and some die."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.netns

RECEIVERS = range(1, 9)
COUNT = 600
SLOW, VERY_SLOW = 200, 20  # messages a second: 3 and 30 seconds for all of them
GROUP = "aeron:udp?endpoint=224.0.1.77:20121|interface=10.77.0.0/24"
EVERYTHING = {"first": 0, "last": COUNT - 1, "is_in_order": True}


def dynamic(machines, index=None):
    """Return the channel of the sender or of a receiver."""
    control = f"control={machines.address(0)}:20120|control-mode=dynamic"
    return f"aeron:udp?{control}" + ("" if index is None else f"|endpoint={machines.address(index)}:20121")


def start_receivers(start, channel_of, *, indices=RECEIVERS, slow=None):
    """Start receivers, some of them `slow` at a rate; return them by index when all have subscribed."""
    receivers = {
        index: start(index, "receive", channel_of(index), COUNT, (slow or {}).get(index, 0))
        for index in indices
    }
    for receiver in receivers.values():
        receiver.await_output(ready=True)
    return receivers


def results(receivers):
    return {index: receiver.await_output(last=None) for index, receiver in receivers.items()}


def without_times(result):
    return {key: result[key] for key in EVERYTHING}


def test_a_group_of_eight_receives_everything_once_and_in_order(machines, start):
    receivers = start_receivers(start, lambda index: GROUP)

    start(0, "send", f"{GROUP}|fc=min,g:/8", COUNT, 8).await_output(sent=COUNT)

    assert [without_times(result) for result in results(receivers).values()] == [EVERYTHING] * 8


def test_with_fc_min_slow_receivers_set_the_rate_and_a_dead_one_is_dropped(machines, start):
    doomed = 8
    receivers = start_receivers(start, lambda index: dynamic(machines, index), slow={1: SLOW, 2: SLOW})
    sender = start(0, "send", f"{dynamic(machines)}|fc=min,g:/7", COUNT, 8)

    receivers[doomed].await_output(began=True)
    receivers.pop(doomed).kill()
    found = results(receivers)

    assert [without_times(result) for result in found.values()] == [EVERYTHING] * 7
    # The fast receivers are at most a window ahead.
    assert min(result["seconds"] for result in found.values()) > 0.7 * COUNT / SLOW
    # Seven are enough for the group; flow control waits 5 seconds for the dead one.
    sender.await_output(receivers=8, destinations=8, connected=True)
    sender.await_output(destinations=7)


def test_with_fc_min_nothing_is_sent_before_the_group_has_its_minimum(machines, start):
    three = start_receivers(start, lambda index: GROUP, indices=(1, 2, 3))
    sender = start(0, "send", f"{GROUP}|fc=min,g:/4", COUNT, 4)

    assert not sender.await_output(receivers=3)["connected"]
    fourth = start_receivers(start, lambda index: GROUP, indices=(4,))

    sender.await_output(receivers=4, connected=True)
    assert [without_times(result) for result in results({**three, **fourth}).values()] == [EVERYTHING] * 4


def test_with_fc_tagged_only_tagged_receivers_set_the_rate(machines, start):
    untagged = start_receivers(start, lambda index: GROUP, indices=(2,), slow={2: VERY_SLOW})[2]
    sender = start(0, "send", f"{GROUP}|fc=tagged,g:101/2", COUNT, 2)
    first = start_receivers(start, lambda index: f"{GROUP}|gtag=101", indices=(3,))

    assert not sender.await_output(receivers=1)["connected"]
    second = start_receivers(start, lambda index: f"{GROUP}|gtag=101", indices=(4,))

    found = results({**first, **second})
    untagged.process.terminate()
    assert [without_times(result) for result in found.values()] == [EVERYTHING] * 2
    assert max(result["seconds"] for result in found.values()) < 0.5 * COUNT / VERY_SLOW
    assert untagged.await_output(last=None)["last"] < COUNT - 1


def test_with_fc_max_a_slow_receiver_falls_behind(machines, start):
    receivers = start_receivers(
        start, lambda index: dynamic(machines, index), indices=(1, 2), slow={2: VERY_SLOW}
    )
    sender = start(0, "send", f"{dynamic(machines)}|fc=max", COUNT, 0)

    fast = receivers[1].await_output(last=None)
    receivers[2].process.terminate()

    sender.await_output(sent=COUNT)
    # It may have joined after the first messages were sent: `max` does not wait for receivers.
    assert (fast["last"], fast["is_in_order"]) == (COUNT - 1, True)
    assert fast["seconds"] < 0.5 * COUNT / VERY_SLOW
    assert receivers[2].await_output(last=None)["last"] < COUNT - 1
