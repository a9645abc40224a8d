"""Round-trip measurements of receivers, and their congestion control."""

import pytest

from aeron_core._native import wire
from aeron_core.errors import ChannelUriError, RegistrationError
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, Sink, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
CUBIC = f"{CHANNEL}|cc=cubic"
MTU = 1408
LARGEST = 128 * 1024 // MTU


def start_stream(pair, channel=CUBIC):
    subscription = pair.add_subscription(channel, 1001)
    publication = pair.add_publication(f"{CHANNEL}|term-length=1m", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, Sink(subscription)


def window(pair):
    return pair.receiver.find_counter("rcv-cc-cubic-wnd").value // MTU


def requests(pair):
    return [frame for frame in frames_of(Rttm, pair.answered()) if frame.flags & wire.RTTM_FLAG_REPLY]


def run_traffic(pair, publication, sink, duration_ns):
    """Send a message every 10 ms."""
    for _ in range(duration_ns // (10 * MS)):
        assert publication.offer(bytes(1000)) > 0
        pair.run_for(10 * MS, each=sink.poll)


@pytest.mark.parametrize("latency_ns", [50 * US, 2 * MS, 40 * MS])
def test_the_measured_round_trip_is_the_sum_of_both_latencies(start_pair, latency_ns):
    pair = start_pair(link=SimulatedLink(latency_ns=latency_ns), cubic_measure_rtt=True)
    publication, sink = start_stream(pair)

    run_traffic(pair, publication, sink, 1 * S)

    rtt_ns = pair.receiver.find_counter("rcv-cc-cubic-rtt").value
    # Up to one step of each driver is added: the sender does not poll its socket in each duty cycle.
    assert 2 * latency_ns <= rtt_ns < 2 * latency_ns + 3 * MS
    assert pair.sender.counted("invalid_packets") == pair.receiver.counted("invalid_packets") == 0


def test_a_round_trip_is_measured_over_a_link_with_loss_duplicates_and_reordering(start_pair):
    link = SimulatedLink(latency_ns=5 * MS, loss=0.1, duplication=0.1, reordering=0.1)
    pair = start_pair(link=link, cubic_measure_rtt=True)
    publication, sink = start_stream(pair)

    run_traffic(pair, publication, sink, 2 * S)

    assert 10 * MS <= pair.receiver.find_counter("rcv-cc-cubic-rtt").value < 15 * MS
    assert pair.receiver.counted("invalid_packets") == 0


def test_measurements_follow_one_another_after_four_round_trips(start_pair):
    pair = start_pair(link=SimulatedLink(latency_ns=5 * MS), cubic_measure_rtt=True)
    publication, sink = start_stream(pair)
    run_traffic(pair, publication, sink, 1 * S)
    before = len(requests(pair))

    run_traffic(pair, publication, sink, 1 * S)

    assert 15 <= len(requests(pair)) - before <= 20


def test_measurements_without_a_reply_become_less_frequent(start_pair):
    pair = start_pair(cubic_measure_rtt=True)
    start_stream(pair)
    pair.network.set_link(SimulatedLink(loss=1), source=pair.SENDER)
    before = len(requests(pair))

    pair.run_for(5 * S)

    assert len(requests(pair)) - before < 20


def test_nothing_is_measured_by_default(start_pair):
    pair = start_pair()
    publication, sink = start_stream(pair)

    run_traffic(pair, publication, sink, 1 * S)

    assert frames_of(Rttm, pair.answered() + pair.sent()) == []


def test_the_window_shrinks_after_a_loss_and_grows_back_along_the_cubic_curve(start_pair):
    pair = start_pair()
    publication, sink = start_stream(pair)
    run_traffic(pair, publication, sink, 5 * S)
    assert window(pair) == LARGEST

    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    publication.offer(bytes(1000))
    pair.run_for(1 * MS)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    publication.offer(bytes(1000))
    pair.run_for(2 * MS, each=sink.poll)

    assert window(pair) == int(LARGEST * 0.8)
    windows = []
    for _ in range(8):
        run_traffic(pair, publication, sink, 500 * MS)
        windows.append(window(pair))
    # It recovers K = cbrt(93 * 0.2 / 0.4) = 3.6 s after the loss.
    assert windows == sorted(windows)
    assert windows[0] < 86
    assert windows[6] < LARGEST
    assert windows[7] == LARGEST
    assert {sm.receiver_window for sm in frames_of(StatusMessage, pair.answered())} > {
        size * MTU for size in (int(LARGEST * 0.8), LARGEST)
    }


def test_a_stream_over_a_lossy_link_arrives_with_shrinking_windows(start_pair):
    pair = start_pair(
        link=SimulatedLink(loss=0.1, latency_ns=1 * MS), cubic_tcp_mode=True, cubic_measure_rtt=True
    )
    publication, sink = start_stream(pair)
    feed = Feed(publication, [number.to_bytes(4, "little") * 200 for number in range(300)])

    pair.run_until(
        lambda: (feed.offer(), sink.poll(), len(sink.all) == 300)[2],
        within_ns=60 * S,
    )

    assert sink.all == feed.messages
    assert 1 <= window(pair) < LARGEST


def test_the_setting_makes_cubic_the_default_of_all_channels(start_pair):
    pair = start_pair(congestion_control="cubic")
    start_stream(pair, CHANNEL)

    assert window(pair) == 10


def test_counters_of_a_closed_image_are_freed(start_pair):
    pair = start_pair(image_liveness_timeout_ns=1 * S, publication_linger_timeout_ns=1 * S)
    publication, _ = start_stream(pair)
    assert len(pair.receiver.find_counters("rcv-cc-cubic")) == 2

    publication.close()
    pair.run_until(lambda: not pair.receiver.find_counters("rcv-cc-cubic"), within_ns=30 * S)


def test_an_option_of_cubic_is_refused_when_the_subscription_is_added(start_pair):
    pair = start_pair()

    with pytest.raises(RegistrationError, match="cc=cubic,fast: must be cubic without options: remove them"):
        pair.add_subscription(f"{CHANNEL}|cc=cubic,fast", 1001)


def test_an_option_of_cubic_in_the_settings_is_refused_at_the_start(start_pair):
    with pytest.raises(ChannelUriError, match="cc=cubic,fast: must be cubic without options"):
        start_pair(congestion_control="cubic,fast")
