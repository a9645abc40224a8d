"""Our driver in place of a real sender.

Compared are the setups, every byte of the stream in the order of first transmission, the retransmissions with their
destinations, and the heartbeats. The client offers the same messages as the captured one, at the same times.
"""

from dataclasses import dataclass

import pytest
from captures import Capture
from replaying import Publisher


@dataclass(frozen=True)
class Scenario:
    name: str
    channel: str
    party: str = "pub"
    fills_holes: bool = False

    def __str__(self):
        return f"{self.name}-{self.party}"


def unicast(name, port, options="|term-length=64k", **more):
    return Scenario(name, f"aeron:udp?endpoint=127.0.0.1:{port}{options}", **more)


def dynamic(name, port, options="|term-length=64k", **more):
    return Scenario(name, f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic{options}", **more)


SCENARIOS = [
    unicast("01-unicast", 24001),
    unicast("02-fragmented-packed", 24011),
    unicast("03-term-rotation", 24021, fills_holes=True),
    unicast("04-loss-nak-retransmit", 24031),
    unicast("04b-loss-control", 24035),
    dynamic("06a-flow-control-min-group", 24051, "|fc=min,g:/2|term-length=64k"),
    dynamic("06b-flow-control-tagged", 24055, "|fc=tagged,g:1001/2|term-length=64k", fills_holes=True),
    dynamic("06c-flow-control-min-timeout", 24059, "|fc=min,t:500ms|term-length=64k"),
    dynamic("07b-mdc-dynamic", 24075),
    unicast("08-mds", 24111, party="pub1"),
    Scenario("09-multicast", "aeron:udp?endpoint=224.20.30.39:24131|interface=127.0.0.1|term-length=64k"),
    Scenario("10-ipv6-unicast", "aeron:udp?endpoint=[::1]:24141|term-length=64k"),
    unicast("13a-error-frame", 24211),
    dynamic("13b-error-frame-group-tag", 24213, "|fc=tagged,g:77|term-length=64k"),
    unicast("14a-explicit-ids", 24231),
    unicast("14b-jumbo-mtu", 24232, "|mtu=8192|term-length=128k|so-sndbuf=256k"),
    unicast("14c-unreliable", 24233),
    unicast("15-revoked", 24251),
    unicast("16b-old-java-receiver", 24292),
    dynamic("16c-old-java-receiver-mdc", 24293),
    unicast("17a-padding-reserved-claim", 24271),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_our_sender_makes_the_same_decisions_as_the_real_one(start_replay, scenario):
    capture = Capture(scenario.name, fills_holes=scenario.fills_holes)
    replay = start_replay(capture, scenario.party)
    publisher = Publisher(replay, scenario.channel)
    if "dynamic" in scenario.channel:
        # Frames of receivers from before the start were received.
        publisher.publish(capture.setup_of(scenario.party))

    replay.run(publisher.on_own)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert ours.setups == theirs.setups
    assert ours.data == theirs.data
    assert ours.repeated == theirs.repeated
    assert ours.heartbeats[-1] == theirs.heartbeats[-1]
    assert set(ours.heartbeats) >= set(theirs.heartbeats)
    assert ours.destinations == theirs.destinations
