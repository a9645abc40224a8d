"""Sealed channels across a switch that attacks them, and loses 5 % of the packets."""

from __future__ import annotations

from pathlib import Path

import pytest
from secured import Keys, with_options

pytestmark = pytest.mark.netns

BESIEGED = Path(__file__).parent / "peers" / "besieged.py"

COUNT = 200
GROUP = "aeron:udp?endpoint=224.0.1.79:20151|interface=10.77.0.0/24"
SECURITY = "|security=orders"
MODES = {
    "unicast": 1,
    "multicast": 2,
    "dynamic": 2,
    "manual": 2,
    "destinations of a receiver": 1,
    "responses": 1,
}
ATTACKS = {"flipped", "cut", "replayed", "recorded", "spliced", "reflected", "forged", "relabelled"}


@pytest.fixture(params=["group", "identities"])
def keys(request, tmp_path):
    """Keys that rotate each second."""
    return Keys(tmp_path, request.param, "rotation_interval=1s")


@pytest.fixture
def begin(start, keys):
    """Return a function that starts an end of a stream on a machine."""

    def begin_one(index, command, channel, **environment):
        process = start(index, command, channel, COUNT, program=BESIEGED, **{**keys.of(index), **environment})
        process.await_output(ready=True)
        return process

    return begin_one


def start_ends(mode, machines, begin):
    """Return the sender and the receivers of a stream."""
    control = f"control={machines.address(0)}:20150"
    endpoints = [f"aeron:udp?endpoint={machines.address(index)}:20151" for index in (1, 2)]
    if mode == "responses":
        requests = f"aeron:udp?endpoint={machines.address(0)}:20152{SECURITY}"
        channels = f"{requests} aeron:udp?{control}|control-mode=response{SECURITY}"
        sender = begin(0, "answer", channels)
        return sender, [begin(1, "ask", channels)]
    published, *subscribed = {
        "unicast": (endpoints[0], endpoints[0]),
        "multicast": (GROUP, GROUP, GROUP),
        "dynamic": (
            f"aeron:udp?{control}|control-mode=dynamic",
            *(f"{endpoint}|{control}|control-mode=dynamic" for endpoint in endpoints),
        ),
        "manual": (" ".join(["aeron:udp?control-mode=manual", *endpoints]), *endpoints),
        "destinations of a receiver": (endpoints[0], f"aeron:udp?control-mode=manual {endpoints[0]}"),
    }[mode]
    receivers = [
        begin(index, "receive", with_options(channel, SECURITY))
        for index, channel in enumerate(subscribed, 1)
    ]
    return begin(0, "send", with_options(published, f"{SECURITY}|fc=min,g:/{len(receivers)}")), receivers


def transfer(sender, receivers, total):
    sender.write_line()
    for receiver in receivers:
        receiver.await_output(arrived=total)


def refused(state):
    return {
        name.removeprefix("refused-"): count
        for name, count in state["security"].items()
        if name.startswith("refused-") and count
    }


def sealed_since(one):
    """Return a number of sealed datagrams that is not less than that at the call."""
    sealed = -1
    # The counters are set ten times a second; heartbeats and status messages are sealed all the time.
    for _ in range(3):
        before = sealed
        sealed = one.await_state(lambda state, before=before: state["security"]["sealed"] > before)[
            "security"
        ]["sealed"]
    return sealed


def check(sender, receivers, before=None):
    """Check that each end has accepted nothing but what the others have sealed for it.

    `before`: an end that has exchanged datagrams with a process that has ended.
    """
    ends = [sender, *receivers]
    opened = [
        one.await_state(lambda state: state["security"]["opened"] > 0)["security"]["opened"] for one in ends
    ]
    sealed = [sealed_since(one) for one in ends]
    for receiver in receivers:
        state = receiver.await_state(lambda state: state["first"] >= 0)
        assert state["wrong"] == 0
        assert state["images"] == [77]
    for number, one in enumerate(ends):
        # Each genuine datagram once at most.
        assert one is before or opened[number] <= sum(sealed) - sealed[number]
        state = one.await_state(lambda state: sum(refused(state).values()) > 20)
        # Cut and plain, relabelled and flipped, reflected and recorded ones.
        assert {"plain", "forged", "role", "replayed"} <= refused(state).keys()
        # The name of a host may be asked for before it is known.
        errors = [text for text in state["errors"] if "unknown host" not in text]
        assert all("refused a datagram: it" in text for text in errors), errors
        # Each of five reasons once, for each of at most two channels.
        assert len(set(errors)) == len(errors) <= 10, errors


@pytest.mark.parametrize("mode", MODES)
def test_a_stream_arrives_whole_and_in_order_and_nothing_else_does(machines, attacker, begin, mode):
    sender, receivers = start_ends(mode, machines, begin)
    transfer(sender, receivers, COUNT)
    # What was recorded has other keys than what follows.
    sender.await_state(lambda state: state["security"]["rotations"] >= 2)
    transfer(sender, receivers, 2 * COUNT)

    check(sender, receivers)
    assert [receiver.last("first") for receiver in receivers] == [0] * len(receivers)
    counts = attacker()
    assert ATTACKS <= counts.keys()
    assert min(counts[name] for name in ATTACKS) > 50, counts
    assert counts["lost"] > 10


@pytest.mark.parametrize("is_sender", [False, True], ids=["receiver", "sender"])
def test_what_was_recorded_before_a_restart_is_not_accepted_after_it(machines, attacker, begin, is_sender):
    channel = f"aeron:udp?endpoint={machines.address(1)}:20151{SECURITY}"
    timeouts = {"AERON_PUBLICATION_CONNECTION_TIMEOUT": "1s", "AERON_IMAGE_LIVENESS_TIMEOUT": "1s"}
    receiver = begin(1, "receive", channel, **timeouts)
    sender = begin(0, "send", channel, **timeouts)
    transfer(sender, [receiver], COUNT)

    if is_sender:
        sender.stop()
        receiver.await_state(lambda state: state["images"] == [])
        sender = begin(0, "send", channel, **timeouts)
        # The new stream has the session of the old one, and begins with the same messages.
        receiver.write_line()
    else:
        receiver.stop()
        sender.await_state(lambda state: not state["connected"])
        receiver = begin(1, "receive", channel, **timeouts)
    receiver.await_state(lambda state: state["images"] == [77])
    transfer(sender, [receiver], COUNT if is_sender else 2 * COUNT)

    check(sender, [receiver], before=receiver if is_sender else sender)
    assert receiver.last("first") == (0 if is_sender else COUNT)
    assert attacker()["recorded"] > 50


def test_names_are_exchanged_and_forged_ones_are_not_accepted(machines, attacker, begin):
    def names_of(index):
        return {
            "AERON_NAME_RESOLVER_SUPPLIER": "driver",
            "AERON_DRIVER_RESOLVER_NAME": f"node-{index}",
            "AERON_DRIVER_RESOLVER_INTERFACE": f"{machines.address(index)}:8050",
            "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": f"{machines.address(0)}:8050",
            "AERON_SECURITY_RESOLVER": "orders",
        }

    receiver = begin(1, "receive", f"aeron:udp?endpoint={machines.address(1)}:20151{SECURITY}", **names_of(1))
    sender = begin(0, "send", f"aeron:udp?endpoint=node-1:20151{SECURITY}", **names_of(0))
    # Each has the name of the other one.
    for one in (sender, receiver):
        one.await_state(lambda state: state["names"] > 0)
    transfer(sender, [receiver], COUNT)

    check(sender, [receiver])
    assert sender.last("names") == receiver.last("names") == 1
    assert attacker()["forged"] > 50
