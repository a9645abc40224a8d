"""Timeouts of clients, publications and images, and the release of their resources."""

import pytest

from aeron_core._native import wire
from aeron_core.errors import ClientTimeoutError, DriverTimeoutError
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedPeer, Sink, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


@pytest.fixture
def stream(pair):
    gone = []
    subscription = pair.add_subscription(CHANNEL, 1001, on_unavailable_image=gone.append)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, subscription, gone


def test_a_publication_is_disconnected_when_its_receiver_was_silent_for_five_seconds(pair, stream):
    publication, _, _ = stream
    pair.network.partition(pair.SENDER, pair.RECEIVER)

    took_ns = pair.run_until(lambda: not publication.is_connected)

    assert 4.7 * S < took_ns < 5.3 * S
    assert publication.offer(b"discarded") == -1
    assert pair.sender.find_counter("pub-lmt").value == pair.sender.find_counter("snd-pos").value


def test_an_image_is_removed_when_its_sender_was_silent_for_ten_seconds(pair, stream):
    _, subscription, gone = stream
    pair.network.partition(pair.SENDER, pair.RECEIVER)

    took_ns = pair.run_until(lambda: gone, within_ns=20 * S)

    # A timer of one second detects the silence; then five status messages with EOS are sent.
    assert 10 * S < took_ns < 13.5 * S
    assert not subscription.is_connected


def test_a_stream_continues_without_loss_after_a_short_partition(pair, stream):
    publication, subscription, gone = stream
    sink = Sink(subscription)
    pair.network.partition(pair.SENDER, pair.RECEIVER)
    feed = Feed(publication, [b"%d" % n for n in range(100)])
    feed.offer()
    pair.run_for(3 * S)
    pair.network.heal(pair.SENDER, pair.RECEIVER)

    pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 100)

    assert sink.all == feed.messages
    assert not gone


@pytest.mark.parametrize(("suffix", "comes_back"), [("", True), ("|rejoin=false", False)])
def test_a_stream_returns_after_a_long_partition_if_rejoin_is_set(pair, suffix, comes_back):
    subscription = pair.add_subscription(CHANNEL + suffix, 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.network.partition(pair.SENDER, pair.RECEIVER)
    pair.run_for(15 * S)
    assert not subscription.is_connected
    pair.network.heal(pair.SENDER, pair.RECEIVER)

    pair.run_for(20 * S)

    assert subscription.is_connected is comes_back
    if comes_back:
        sink = Sink(subscription)
        publication.offer(b"back again")
        pair.run_until(sink.poll)
        assert sink.all == [b"back again"]


def test_all_resources_of_an_ended_image_are_released(pair, stream):
    publication, subscription, _ = stream
    before = pair.receiver.counted("bytes_currently_mapped")
    publication.close()

    pair.run_for(25 * S)

    for prefix in ("sub-pos", "rcv-hwm", "rcv-pos", "rcv-naks-sent"):
        assert pair.receiver.find_counters(prefix) == []
    assert pair.receiver.log_files() == []
    assert pair.receiver.counted("bytes_currently_mapped") < before
    assert subscription.channel_status.name == "ACTIVE"


def test_a_publication_that_was_read_is_removed_before_its_linger_timeout(pair, stream):
    publication, _, _ = stream
    publication.close()

    took_ns = pair.run_until(lambda: not pair.sender.find_counters("pub-lmt"))

    assert took_ns < 4.5 * S
    assert pair.sender.log_files() == []
    pair.run_for(1 * MS)
    assert pair.sender.find_counters("snd-channel") == []


@pytest.mark.parametrize(("suffix", "linger_s"), [("", 5), ("|linger=0", 0), ("|linger=12s", 12)])
def test_a_publication_without_a_receiver_lingers(pair, suffix, linger_s):
    publication = pair.add_publication(CHANNEL + suffix, 1001)
    publication.close()

    took_ns = pair.run_until(lambda: not pair.sender.log_files(), within_ns=20 * S)

    assert linger_s * S < took_ns < (linger_s + 3.2) * S


def test_an_endpoint_is_closed_with_its_last_user_and_can_be_opened_again(pair, stream):
    publication, subscription, _ = stream
    subscription.close()
    publication.close()
    pair.run_for(20 * S)
    assert pair.receiver.find_counters("rcv-") == []
    assert pair.sender.find_counters("snd-") == []

    again = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)

    pair.run_until(lambda: publication.is_connected and again.is_connected)


def test_resources_of_a_silent_client_are_released_and_others_are_notified(pair, stream):
    _publication, _subscription, gone = stream
    other = pair.sender.connect()
    pair.result(other.add_counter_async(1234, b"", "theirs"))
    unavailable = []
    other.add_unavailable_counter_handler(lambda _, registration_id, __: unavailable.append(registration_id))
    counter = pair.result(pair.publisher.add_counter_async(1234, b"key", "mine"))
    dead = pair.publisher
    pair.sender.abandon(dead)

    pair.run_for(13 * S)

    assert pair.sender.counted("client_timeouts") == 1
    assert pair.sender.find_counters("mine") == []
    assert unavailable == [dead.client_id, counter.registration_id]
    assert [r.registration_id for r in pair.sender.find_counters("client-heartbeat")] == [other.client_id]
    pair.run_until(lambda: gone, within_ns=20 * S)
    pair.run_until(lambda: pair.sender.log_files() == [], within_ns=2 * S)


def test_a_client_that_stalls_for_too_long_has_timed_out(pair):
    publication = pair.add_publication(CHANNEL, 1001)
    pair.sender.abandon(pair.publisher)
    pair.run_for(13 * S)

    pair.publisher.do_work()

    assert pair.publisher.is_closed
    assert publication.is_closed
    assert isinstance(pair.sender.client_errors[0], ClientTimeoutError)


def test_a_client_that_closes_releases_everything_without_a_timeout(pair, stream):
    pair.publisher.close()
    pair.sender.abandon(pair.publisher)

    pair.run_for(10 * S)

    assert pair.sender.counted("client_timeouts") == 0
    assert pair.sender.find_counters("client-heartbeat") == []
    assert pair.sender.log_files() == []


def test_clients_of_a_stalled_driver_time_out(pair, stream):
    publication, _, _ = stream
    pair.sender.is_stalled = True

    pair.run_until(lambda: pair.publisher.is_closed, within_ns=15 * S)

    assert isinstance(pair.sender.client_errors[0], DriverTimeoutError)
    assert publication.is_closed


def test_clients_detect_that_a_driver_has_closed(pair, stream):
    pair.sender.media_driver.close()
    pair.sender.is_stalled = True

    took_ns = pair.run_until(lambda: pair.publisher.is_closed)

    assert took_ns < 1 * S
    assert "has ended" in str(pair.sender.client_errors[0])


def test_repeated_old_data_does_not_keep_an_image_alive(start_driver):
    driver = start_driver()
    peer = SimulatedPeer(driver.network, "10.0.0.9", 40000, ("127.0.0.1", 20121))
    subscription = driver.add_subscription("aeron:udp?endpoint=127.0.0.1:20121", 1001)
    peer.send(encode_frame(Setup(term_length=64 * 1024, mtu=1408, session_id=7, stream_id=1001)))
    driver.run_until(lambda: subscription.is_connected)
    sink = Sink(subscription)
    frames = [data_frame(bytes(992), term_offset=n * 1024) for n in range(20)]
    peer.send(*frames)
    driver.run_for(100 * MS, each=sink.poll)

    for _ in range(150):
        peer.send(frames[0])
        driver.run_for(100 * MS, each=sink.poll)

    assert not subscription.is_connected


def test_status_messages_have_the_eos_flag_while_an_image_drains(pair, stream):
    publication, _, gone = stream
    publication.close()
    pair.run_until(lambda: gone)

    flags = [frame.flags for frame in frames_of(StatusMessage, pair.answered())]

    assert flags.count(0x40) >= 5
    assert flags == sorted(flags)


def test_an_image_sends_nothing_after_its_socket_is_closed(pair, stream):
    _, subscription, _ = stream
    subscription.close()
    pair.run_until(lambda: not pair.receiver.find_counters("rcv-channel"))
    sent_count = len(pair.answered())

    pair.run_for(2 * S)

    assert len(pair.answered()) == sent_count
    assert pair.receiver.errors() == []


def test_a_socket_stays_open_until_its_image_has_sent_eos(pair, stream):
    _, subscription, _ = stream
    subscription.close()

    pair.run_until(lambda: not pair.receiver.find_counters("rcv-channel"))

    assert frames_of(StatusMessage, pair.answered())[-1].flags & wire.SM_FLAG_EOS


def test_a_revoked_stream_sends_no_eos(pair, stream):
    publication, subscription, gone = stream

    publication.revoke()
    pair.run_until(lambda: gone)

    assert not any(sm.flags & wire.SM_FLAG_EOS for sm in frames_of(StatusMessage, pair.answered()))
    assert not subscription.is_connected


def test_a_stream_continues_if_it_is_subscribed_to_again_at_once(pair, stream):
    publication, subscription, _ = stream
    other = pair.add_subscription(CHANNEL, 1002)
    subscription.close()
    pair.run_for(10 * MS)

    again = Sink(pair.add_subscription(CHANNEL, 1001))
    pair.run_until(lambda: again.subscription.is_connected)
    pair.run_for(5 * S, each=lambda: check_connected(publication))
    publication.offer(b"still here")
    pair.run_until(again.poll)

    assert again.all == [b"still here"]
    other.close()


def check_connected(publication):
    assert publication.is_connected


DAY = 86_400 * S


@pytest.mark.parametrize("step_ns", [-DAY, DAY])
def test_a_step_of_the_system_clock_ends_no_client(pair, stream, step_ns):
    publication, subscription, _ = stream

    pair.clock.step(step_ns)
    pair.run_for(30 * S)

    assert pair.sender.counted("client_timeouts") == 0
    assert publication.is_connected
    assert subscription.is_connected


@pytest.mark.parametrize("step_ns", [-DAY, DAY])
def test_a_dead_client_times_out_after_a_step_of_the_system_clock(pair, stream, step_ns):
    pair.sender.abandon(pair.publisher)

    pair.clock.step(step_ns)
    pair.run_for(9 * S)
    assert pair.sender.counted("client_timeouts") == 0
    pair.run_for(4 * S)

    assert pair.sender.counted("client_timeouts") == 1


@pytest.mark.parametrize("step_ns", [-DAY, DAY])
def test_clients_of_a_stalled_driver_time_out_after_a_step_of_the_system_clock(pair, stream, step_ns):
    pair.sender.is_stalled = True

    pair.clock.step(step_ns)
    took_ns = pair.run_until(lambda: pair.publisher.is_closed, within_ns=15 * S)

    assert 8 * S < took_ns
    assert isinstance(pair.sender.client_errors[0], DriverTimeoutError)
