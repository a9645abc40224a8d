"""Our driver in place of a real receiver.

Compared are the positions and windows in status messages, NAKs, setup requests, error frames, ends of streams, and the
messages that the client received. Old drivers (16b, 16c) repeat a status message with their current position, newer
ones with the position of their last advance, and other delays give other windows: of the old ones only the NAKs are
compared.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from captures import Capture, was_lost

from aeron_core._native import wire
from aeron_core.testing.pair import MS, S

TIMER_NS = S  # ends are detected by the conductor's timer


@dataclass(frozen=True)
class Scenario:
    name: str
    channel: str
    party: str = "sub"
    loses: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    compares_windows: bool = True
    fills_holes: bool = False

    def __str__(self):
        return f"{self.name}-{self.party}"


def unicast(name, port, options="", **more):
    return Scenario(name, f"aeron:udp?endpoint=127.0.0.1:{port}{options}", **more)


def dynamic(name, port, control, options="", **more):
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|control=127.0.0.1:{control}|control-mode=dynamic{options}"
    return Scenario(name, channel, **more)


SLOW_NAKS = {"nak_unicast_delay_ns": "1ms", "nak_unicast_retry_delay_ratio": 15}
SCENARIOS = [
    unicast("01-unicast", 24001),
    unicast("02-fragmented-packed", 24011, compares_windows=False),
    unicast("03-term-rotation", 24021, fills_holes=True, compares_windows=False),
    unicast("04-loss-nak-retransmit", 24031, loses=True),
    unicast("04b-loss-control", 24035, loses=True, settings=SLOW_NAKS),
    dynamic("06a-flow-control-min-group", 24052, 24051, party="sub1"),
    dynamic("06a-flow-control-min-group", 24053, 24051, party="sub2"),
    dynamic("06b-flow-control-tagged", 24056, 24055, "|gtag=1001", party="sub1"),
    dynamic("06b-flow-control-tagged", 24058, 24055, party="sub3"),
    dynamic("06c-flow-control-min-timeout", 24060, 24059, party="sub1"),
    unicast("07a-mdc-manual", 24071, party="sub1"),
    unicast("07a-mdc-manual", 24072, party="sub2"),
    dynamic("07b-mdc-dynamic", 24076, 24075, party="sub1"),
    dynamic("07b-mdc-dynamic", 24077, 24075, party="sub2"),
    Scenario("09-multicast", "aeron:udp?endpoint=224.20.30.39:24131|interface=127.0.0.1", party="sub1"),
    Scenario("09-multicast", "aeron:udp?endpoint=224.20.30.39:24131|interface=127.0.0.1", party="sub2"),
    Scenario("10-ipv6-unicast", "aeron:udp?endpoint=[::1]:24141"),
    unicast("14a-explicit-ids", 24231),
    unicast("14b-jumbo-mtu", 24232, "|so-rcvbuf=256k|rcv-wnd=128k", compares_windows=False),
    unicast("14c-unreliable", 24233, "|reliable=false"),
    unicast("15-revoked", 24251),
    unicast("16a-old-java-sender", 24291, compares_windows=False),
    unicast("16b-old-java-receiver", 24292, loses=True, compares_windows=False),
    dynamic("16c-old-java-receiver-mdc", 24294, 24293, loses=True, compares_windows=False),
    unicast("17a-padding-reserved-claim", 24271),
    unicast("17b-channel-timestamps", 24281),
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_our_receiver_makes_the_same_decisions_as_the_real_one(start_replay, scenario):
    capture = Capture(scenario.name, fills_holes=scenario.fills_holes)
    loses = {"is_lost": was_lost} if scenario.loses else {}
    replay = start_replay(capture, scenario.party, **loses, **scenario.settings)
    setup = capture.setup_of("pub")
    begin_ns = begin_of(capture, scenario)
    replay.run_until(begin_ns)
    replay.subscribe(scenario.channel, setup.stream_id)

    replay.run(begin_ns=begin_ns)
    # After this time, timers have fired.
    replay.run_until(replay.now_ns + TIMER_NS + 300 * MS)

    ours, theirs = replay.decided, replay.captured_decisions()
    holes = capture.holes(setup.session_id)
    assert [nak for nak in ours.naks if not is_within(nak, holes)] == theirs.naks
    assert ours.elicitations == theirs.elicitations
    assert ours.errors == theirs.errors
    if scenario.compares_windows:
        assert ours.windows == theirs.windows
    else:
        assert ours.windows[0] == theirs.windows[0]
    expected = messages_from(capture, scenario, setup, ours.windows[0], holes)
    assert [payload for _, _, payload in replay.received][: len(expected)] == expected
    assert holes or len(replay.received) == len(expected)
    assert ours.ended == ([(setup.session_id,)] if has_ended(capture, scenario) else [])


def has_ended(capture, scenario):
    """Return whether the stream reached its end; a revoked one does not."""
    ends = [
        frame.header.flags & wire.DATA_FLAG_REVOKED
        for datagram in capture.sent_by("pub")
        for frame in datagram.frames
        if scenario.party in datagram.to and frame.is_heartbeat and frame.header.flags & wire.DATA_FLAG_EOS
    ]
    return bool(ends) and not any(ends)


def messages_from(capture, scenario, setup, window, holes):
    """Return the fragments that the client must receive, in order, up to the first that the file omits."""
    first = window[2:4]
    frames = {
        frame.fields("term_id", "term_offset"): frame
        for datagram in capture.sent_by("pub")
        for frame in datagram.frames
        if scenario.party in datagram.to and frame.is_data and frame.header.session_id == setup.session_id
    }
    last = min((term, begin) for term, begin, _ in holes) if holes else (1 << 31, 0)
    return [
        frame.payload
        for place, frame in sorted(frames.items())
        if first <= place < last and frame.header.frame_type == wire.TYPE_DATA
    ]


def is_within(nak, holes):
    """Return whether a receiver requested data that the file omits."""
    _, _, term_id, term_offset, length = nak
    return any(
        term == term_id and begin <= term_offset and term_offset + length <= end for term, begin, end in holes
    )


def begin_of(capture, scenario):
    """Return the time of the subscription."""
    return max(capture.sent_by(scenario.party)[0].time_ns - 20 * MS, 0)
