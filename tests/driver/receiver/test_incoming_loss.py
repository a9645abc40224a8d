"""Simulated loss of incoming frames, selected by their type."""

import pytest

from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.testing import Feed, Sink, frames_of, make_messages
from aeron_core.testing.pair import S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
DATA, NAK, SM, SETUP = (1 << n for n in (1, 2, 3, 5))


def deliver(pair, count=300):
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_exclusive_publication(CHANNEL + START, 1001)
    pair.run_until(lambda: publication.is_connected, within_ns=30 * S)
    feed, sink = Feed(publication, make_messages(count, seed=1, max_length=1000)), Sink(subscription)
    pair.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == count, within_ns=60 * S)
    return sink.all == feed.messages


def requested_gaps(pair):
    return [(nak.term_id, nak.term_offset, nak.length) for nak in frames_of(Nak, pair.answered())]


def test_a_fraction_of_data_is_lost_and_recovered(start_pair):
    pair = start_pair(
        udp_channel_incoming_interceptors="loss", loss_args=f"rate=0.2|seed=3|recv-msg-mask={DATA:x}"
    )

    assert deliver(pair)
    assert len(requested_gaps(pair)) > 5


def test_without_a_mask_nothing_is_lost(start_pair):
    pair = start_pair(udp_channel_incoming_interceptors="loss", loss_args="rate=1|seed=3")

    assert deliver(pair)
    assert requested_gaps(pair) == []


def test_the_mask_selects_setup_frames(start_pair):
    pair = start_pair(
        udp_channel_incoming_interceptors="loss", loss_args=f"rate=0.8|seed=3|recv-msg-mask={SETUP:x}"
    )

    assert deliver(pair)
    assert len(frames_of(Setup, pair.sent())) > 1
    assert requested_gaps(pair) == []


def test_frames_of_receivers_are_lost_at_the_sender(start_pair):
    pair = start_pair(
        udp_channel_incoming_interceptors="loss", loss_args=f"rate=1|seed=3|recv-msg-mask={SM:x}"
    )
    pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)

    pair.run_for(2 * S)

    assert not publication.is_connected
    assert pair.sender.counted("status_messages_received") == 0


def test_a_range_of_a_term_is_lost_once(start_pair):
    pair = start_pair(
        udp_channel_incoming_interceptors="fixed-loss",
        fixed_loss_args="term-id=7|term-offset=4096|length=4096",
    )

    assert deliver(pair)
    asked = requested_gaps(pair)
    assert len(asked) == 1
    ((term_id, begin, length),) = asked
    assert term_id == 7
    assert begin <= 4096
    assert begin + length >= 8192


@pytest.mark.parametrize("total", [1, 3])
def test_gaps_are_lost_once_at_each_multiple(start_pair, total):
    pair = start_pair(
        udp_channel_incoming_interceptors="multi-gap-loss",
        multi_gap_loss_args=f"term-id=7|gap-radix=8192|gap-length=64|total-gaps={total}",
    )

    assert deliver(pair)
    begins = sorted({begin for _, begin, _ in requested_gaps(pair)})
    assert len(begins) == total
    for number, begin in enumerate(begins, 1):
        assert abs(begin - number * 8192) < 2048


def test_several_kinds_of_loss_add_up(start_pair):
    pair = start_pair(
        udp_channel_incoming_interceptors="loss,fixed-loss,multi-gap-loss",
        loss_args=f"rate=0.05|seed=3|recv-msg-mask={DATA | NAK:x}",
        fixed_loss_args="term-id=7|term-offset=0|length=64",
        multi_gap_loss_args="term-id=7|gap-radix=4096|gap-length=64|total-gaps=2",
    )

    assert deliver(pair)
    assert {begin for _, begin, _ in requested_gaps(pair)} >= {0}
    assert len(requested_gaps(pair)) > 3
