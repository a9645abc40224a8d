"""NAKs and status messages to a source that never answers: its address may be that of a victim."""

from itertools import pairwise

import pytest

from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.testing import SimulatedLink, SimulatedPeer, Sink, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
TERM = 64 * 1024
VICTIM = "10.9.0.1"


def answers(pair):
    """Return time and datagram of all that the driver sent to the victim."""
    return [(line.time_ns, line.data) for line in pair.network.log if line.destination.startswith(VICTIM)]


@pytest.fixture
def forged(pair):
    """A stream of a forged source: one SETUP, and one frame after a gap."""
    subscription = pair.add_subscription(CHANNEL, 1001)
    pair.busy_step_ns, pair.long_idle_step_ns = 50_000, 0
    peer = SimulatedPeer(pair.network, VICTIM, 40000, (pair.RECEIVER, 20121))
    peer.send(encode_frame(Setup(session_id=7, stream_id=1001, term_length=TERM, mtu=1408)))
    pair.run_until(lambda: subscription.is_connected)
    peer.send(data_frame(b"x", session_id=7, stream_id=1001, term_offset=1024))
    return peer


def test_a_source_that_never_answers_gets_few_naks(pair, forged):
    pair.run_for(60 * S)

    naks = [time_ns for time_ns, data in answers(pair) if frames_of(Nak, [data])]
    assert 20 < len(naks) < 150
    # The intervals grow, but never beyond that of heartbeats.
    intervals = [after - before for before, after in pairwise(naks)]
    assert max(intervals[:9]) < 2 * MS
    assert 100 * MS <= max(intervals) < 103 * MS


def test_nothing_is_sent_to_a_source_long_after_the_image_timeout(pair, forged):
    # The client does not read, so the image never finishes draining.
    start_ns = pair.now_ns
    pair.run_for(60 * S)

    last_ns = max(time_ns for time_ns, _ in answers(pair))
    assert last_ns - start_ns < 16 * S
    last_nak_ns = max(time_ns for time_ns, data in answers(pair) if frames_of(Nak, [data]))
    assert last_nak_ns - start_ns < 12 * S


def test_a_sender_that_comes_back_is_asked_at_once(pair):
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    publication = pair.add_publication(f"{CHANNEL}|mtu=1024", 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    publication.offer(bytes(992))
    pair.run_for(1 * MS)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    # No more heartbeats arrive, and no NAKs are sent.
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.SENDER)
    publication.offer(b"after the gap")
    pair.run_for(1 * MS)
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    pair.run_for(3 * S)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    pair.network.set_link(SimulatedLink(), destination=pair.SENDER)

    # A heartbeat comes within 100 ms; the repair takes no time after it.
    took_ns = pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2)

    assert took_ns < 105 * MS
