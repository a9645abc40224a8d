"""Recovery of loss between two drivers: NAKs, retransmissions and filled gaps."""

from itertools import pairwise

import pytest

from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.protocol.frames.nak import Nak
from aeron_core.testing import Feed, SimulatedLink, Sink, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
FRAME = 1024
MESSAGE = bytes(FRAME - 32)


@pytest.fixture
def stream(pair):
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(f"{CHANNEL}|mtu=1024", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, Sink(subscription)


def lose(pair, action):
    """Run the block while every datagram to the receiver is lost."""
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    action()
    pair.run_for(50 * US)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)


def times_of(pair, kind, source):
    return [
        line.time_ns
        for line in pair.network.log
        if line.source.startswith(source) and frames_of(kind, [line.data])
    ]


def test_a_gap_is_requested_within_microseconds_and_closed(pair, stream):
    publication, sink = stream
    publication.offer(MESSAGE)
    pair.run_for(100 * US)
    lose(pair, lambda: Feed(publication, [MESSAGE] * 3).offer())
    publication.offer(b"after the gap")
    start_ns = pair.now_ns

    took_ns = pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 5)

    (nak,) = frames_of(Nak, pair.answered())
    assert (nak.term_offset, nak.length) == (FRAME, 3 * FRAME)
    assert times_of(pair, Nak, pair.RECEIVER)[0] - start_ns <= 100 * US
    assert took_ns < 2 * MS
    assert pair.sender.counted("retransmits_sent") == 1
    assert pair.sender.counted("retransmitted_bytes") == 3 * FRAME
    assert pair.receiver.find_counter("rcv-naks-sent").value == 1
    assert pair.sender.find_counter("snd-naks-received").value == 1


def test_an_unanswered_nak_is_repeated_every_hundred_initial_delays(start_pair):
    pair = start_pair(nak_unicast_delay_ns=100 * US)
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    lose(pair, lambda: publication.offer(MESSAGE))
    publication.offer(b"after the gap")
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.SENDER)

    pair.run_for(100 * MS)

    intervals = [after - before for before, after in pairwise(times_of(pair, Nak, pair.RECEIVER))]
    assert len(intervals) >= 8
    assert all(10 * MS <= interval <= 11.1 * MS for interval in intervals)


def test_only_the_first_gap_is_requested_until_it_is_closed(pair, stream):
    publication, sink = stream
    lose(pair, lambda: publication.offer(MESSAGE))
    publication.offer(MESSAGE)
    pair.run_for(20 * US)
    lose(pair, lambda: publication.offer(MESSAGE))
    publication.offer(MESSAGE)

    pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 4)

    offsets = [nak.term_offset for nak in frames_of(Nak, pair.answered())]
    assert offsets == sorted(offsets)
    assert set(offsets) == {0, 2 * FRAME}


def test_a_loss_is_in_the_loss_report_with_its_bytes(pair, stream):
    publication, sink = stream
    lose(pair, lambda: Feed(publication, [MESSAGE] * 4).offer())
    publication.offer(MESSAGE)
    pair.run_for(5 * MS, each=sink.poll)

    (entry,) = losses_of(pair)

    assert (entry.observation_count, entry.total_bytes_lost) == (1, 4 * FRAME)
    assert (entry.session_id, entry.stream_id) == (publication.session_id, 1001)


def test_a_loss_is_reported_when_its_gap_is_found_before_it_is_retransmitted(start_pair):
    pair = start_pair(udp_channel_incoming_interceptors="loss", loss_args="rate=0.2|seed=3|recv-msg-mask=0xF")
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    publication = pair.add_publication(f"{CHANNEL}|mtu=1024", 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    feed = Feed(publication, [MESSAGE] * 200)

    pair.run_until(lambda: (feed.offer(), sink.poll(), pair.sender.counted("retransmits_sent"))[2])

    (entry,) = losses_of(pair)
    first_nak_ns = times_of(pair, Nak, pair.RECEIVER)[0]
    assert entry.first_observation_ms == pair.clock.epoch_ms() - (pair.now_ns - first_nak_ns) // MS
    assert entry.source.startswith("10.0.0.1:")


@pytest.mark.parametrize("options", ["", "|reliable=false"])
def test_the_times_of_losses_are_those_of_their_gaps_not_of_a_timer(pair, options):
    sink = Sink(pair.add_subscription(CHANNEL + options, 1001))
    publication = pair.add_publication(f"{CHANNEL}|mtu=1024", 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    expected_ms = []
    for pause_ms in (0, 137, 291):
        pair.run_for(pause_ms * MS, each=sink.poll)
        lose(pair, lambda: publication.offer(MESSAGE))
        publication.offer(MESSAGE)
        count = len(expected_ms)
        pair.run_until(
            lambda count=count: (sink.poll(), sum(e.observation_count for e in losses_of(pair)) > count)[1]
        )
        expected_ms.append(pair.clock.epoch_ms())

    (entry,) = losses_of(pair)

    assert (entry.observation_count, entry.total_bytes_lost) == (3, 3 * FRAME)
    assert (entry.first_observation_ms, entry.last_observation_ms) == (expected_ms[0], expected_ms[-1])
    assert entry.last_observation_ms - entry.first_observation_ms in range(428, 435)


def losses_of(pair):
    """Return the entries of the receiver's loss report."""
    return list(
        read_loss_report(open_mapped_file(pair.receiver.aeron_dir / "loss-report.dat", read_only=True))
    )


def test_an_unreliable_subscription_fills_a_gap_without_delay(start_pair):
    pair = start_pair(nak_unicast_delay_ns=1 * S)
    sink = Sink(pair.add_subscription(f"{CHANNEL}|reliable=false", 1001))
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    lose(pair, lambda: publication.offer(b"lost"))
    publication.offer(b"after")

    pair.run_for(5 * MS, each=sink.poll)

    assert sink.all == [b"after"]


def test_the_channel_sets_the_delay_before_a_gap_is_requested(pair):
    sink = Sink(pair.add_subscription(f"{CHANNEL}|nak-delay=20ms", 1001))
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    lose(pair, lambda: publication.offer(b"lost"))
    publication.offer(b"after")
    start_ns = pair.now_ns

    pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2)

    assert 20 * MS <= times_of(pair, Nak, pair.RECEIVER)[0] - start_ns <= 22 * MS


def test_an_unreliable_subscription_fills_gaps_and_continues(pair):
    subscription = pair.add_subscription(f"{CHANNEL}|reliable=false", 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    sink = Sink(subscription)
    publication.offer(b"before")
    pair.run_for(100 * US, each=sink.poll)
    lose(pair, lambda: Feed(publication, [b"lost"] * 3).offer())
    publication.offer(b"after")

    pair.run_for(5 * MS, each=sink.poll)

    assert sink.all == [b"before", b"after"]
    assert frames_of(Nak, pair.answered()) == []
    assert pair.receiver.counted("loss_gap_fills") == 1


@pytest.mark.parametrize("silent_s", [0, 8])
def test_a_gap_before_long_padding_is_closed_at_any_sender_position(pair, silent_s):
    # The padding lets the sender exceed its limit. With the headers of 256 fragments, it is longer than the
    # longest message.
    subscription = pair.add_subscription(CHANNEL, 1001)
    channel = f"{CHANNEL}|mtu=64|init-term-id=0|term-id=0|term-offset=24224"
    publication = pair.add_exclusive_publication(channel, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    sink = Sink(subscription, fragment_limit=1000)
    lose(pair, lambda: publication.offer(b"lost"))
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.SENDER)
    while publication.term_offset <= 64 * 1024 - 16 * 1024:
        publication.offer(b"fills")
    publication.offer(bytes(8192))
    pair.run_for(10 * MS)
    assert pair.sender.find_counter("snd-pos").value == 64 * 1024
    pair.network.set_link(SimulatedLink(), destination=pair.SENDER)

    # All this time, status messages carry a position before the gap.
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    pair.run_for(silent_s * S)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    pair.run_until(lambda: sink.poll() and b"lost" in sink.all)

    assert pair.sender.counted("status_messages_rejected") == 0
    assert publication.is_connected
