"""Streams in which nothing happens: when their timers run, and how soon their first message is found."""

from collections import Counter
from itertools import pairwise

import pytest
from aeron_media._native import limits

from aeron_core.driver._native import operations
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedLink, SimulatedPeer, encode_frame, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
#: More than an agent checks in each duty cycle.
STREAMS = 40
HEARTBEAT_LENGTH = 32
#: Of heartbeats: their interval, and a step of the simulation.
LONGEST_GAP_NS = 101 * MS
#: Streams in several phases.
MANY = 3 * operations.STREAMS_PER_PHASE + 8
IDS = {"session_id": 77, "stream_id": 1001}
#: Datagrams that the sender receives with one call, and in one duty cycle.
SLOTS = 4
MOST_STATUS_MESSAGES = SLOTS * limits.MAX_FEEDBACK_RECEIVES
STATUS_MESSAGE = encode_frame(StatusMessage(receiver_id=5, receiver_window=32 * 1024, **IDS))


def connect(pair, count, channel=CHANNEL):
    """Return publications and subscriptions that have been quiet for a second."""
    subscriptions = [pair.add_subscription(channel, number) for number in range(count)]
    publications = [pair.add_publication(channel, number) for number in range(count)]
    pair.run_until(lambda: all(each.is_connected for each in publications))
    pair.run_for(1 * S)
    return publications, subscriptions


def is_heartbeat(data):
    return len(data) == HEARTBEAT_LENGTH


def is_status_message(data):
    return len(frames_of(StatusMessage, [data])) > 0


def times_of(pair, source, is_chosen, duration_ns):
    """Return the times of the datagrams of one host that are chosen."""
    begun_ns, begun = pair.now_ns, len(pair.network.log)
    pair.run_for(duration_ns, each=lambda: None)
    lines = [line for line in pair.network.log[begun:] if line.source.startswith(source)]
    return [begun_ns, *(line.time_ns for line in lines if is_chosen(line.data)), pair.now_ns]


def gaps_of(pair, source, is_chosen, duration_ns):
    """Return the times between them."""
    times_ns = times_of(pair, source, is_chosen, duration_ns)
    return [later - earlier for earlier, later in pairwise(times_ns)]


def last_of(pair, source, is_chosen):
    """Return the last datagram of one host that is chosen."""
    lines = reversed(pair.network.log)
    return next(line.data for line in lines if line.source.startswith(source) and is_chosen(line.data))


def test_a_quiet_stream_sends_heartbeats_at_their_interval(pair):
    connect(pair, 1)

    gaps_ns = gaps_of(pair, pair.SENDER, is_heartbeat, 2 * S)

    assert max(gaps_ns) <= LONGEST_GAP_NS
    # Up to a tenth earlier, until they have the phase of the stream.
    assert min(gaps_ns[1:-1]) >= 90 * MS
    assert min(gaps_ns[10:-1]) >= 99 * MS


def test_each_of_many_quiet_streams_sends_heartbeats(pair):
    connect(pair, STREAMS)

    before = pair.sender.counted("heartbeats_sent")
    pair.run_for(10 * S)

    assert 99 * STREAMS <= pair.sender.counted("heartbeats_sent") - before <= 102 * STREAMS


def test_status_messages_and_heartbeats_of_many_quiet_streams_are_not_sent_all_at_once(pair):
    connect(pair, MANY)
    # After a time in which neither driver runs, all are due. They get back to their phases.
    pair.clock.advance(1 * S)
    pair.run_for(3 * S, each=lambda: None)

    heartbeats = Counter(times_of(pair, pair.SENDER, is_heartbeat, 100 * MS))
    status_messages = Counter(times_of(pair, pair.RECEIVER, is_status_message, 200 * MS))

    assert heartbeats.total() >= MANY
    assert max(heartbeats.values()) <= operations.STREAMS_PER_PHASE
    assert status_messages.total() >= MANY
    assert max(status_messages.values()) <= operations.STREAMS_PER_PHASE


def test_setups_of_many_streams_without_a_receiver_get_back_to_their_phases(lone):
    for number in range(MANY):
        lone.add_publication(CHANNEL, number)
    # A time in which the driver does not run.
    lone.clock.advance(1 * S)
    lone.run_for(3 * S, each=lambda: None)
    begun = len(lone.network.log)

    lone.run_for(100 * MS, each=lambda: None)

    setups = Counter(line.time_ns for line in lone.network.log[begun:])
    assert setups.total() >= MANY
    assert max(setups.values()) <= operations.STREAMS_PER_PHASE


class PlayedReceiver:
    """A receiver that the test plays, of a stream that is connected and quiet."""

    def __init__(self, driver):
        self.driver = driver
        self._socket = SimulatedPeer(driver.network, "10.0.0.2", 20121, ("127.0.0.1", 49152))
        channel = f"{CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0"
        self.publication = driver.add_exclusive_publication(channel, 1001)
        self.send(STATUS_MESSAGE)
        driver.run_until(lambda: self.publication.is_connected)
        assert self.publication.offer(b"data") > 0
        driver.run_for(500 * MS)
        # Whatever is due now.
        driver.driver.do_work()

    def send(self, frame, count=1):
        self._socket.send(*[frame if isinstance(frame, bytes) else encode_frame(frame)] * count)

    def has_received_data(self):
        return any(frame.frame_length for frame in frames_of(DataHeader, self._socket.receive()))


@pytest.fixture
def receiver(lone):
    return PlayedReceiver(lone)


def test_a_duty_cycle_reads_all_status_messages_of_quiet_streams(lone, receiver):
    receiver.send(STATUS_MESSAGE, 127)

    work = lone.driver.media_driver.do_work()

    assert lone.driver.counted("status_messages_received") == 128
    # They have changed nothing: the sender sleeps again.
    assert work == 0


def test_a_duty_cycle_reads_a_bounded_number_of_status_messages(lone, receiver):
    receiver.send(STATUS_MESSAGE, 2 * MOST_STATUS_MESSAGES + 1)

    works, counts = [], []
    for _ in range(3):
        # While more may have arrived, the sender does not sleep.
        works.append(lone.driver.media_driver.do_work())
        counts.append(lone.driver.counted("status_messages_received") - 1)

    assert counts == [MOST_STATUS_MESSAGES, 2 * MOST_STATUS_MESSAGES, 2 * MOST_STATUS_MESSAGES + 1]
    assert works == [1, 1, 0]


def test_a_duty_cycle_answers_the_naks_of_one_receive_call(lone, receiver):
    assert receiver.has_received_data()
    receiver.send(Nak(length=64, **IDS), 64)

    works = [lone.driver.media_driver.do_work()]
    answered = lone.driver.counted("naks_received")
    while works[-1] > 0:
        works.append(lone.driver.media_driver.do_work())

    # New data, and the sender's other streams, are served between the calls.
    assert answered == SLOTS
    assert lone.driver.counted("naks_received") == 64
    # Work until a call has found an empty slot.
    assert len(works) >= 64 // SLOTS


def test_a_receiver_does_not_sleep_while_heartbeats_of_quiet_streams_are_left(pair, to_receiver):
    connect(pair, 1)
    pair.receiver.do_work()
    before = pair.receiver.counted("heartbeats_received")
    to_receiver.send(*[last_of(pair, pair.SENDER, is_heartbeat)] * 203)

    cycles = 0
    while pair.receiver.media_driver.do_work() > 0:
        cycles += 1

    assert pair.receiver.counted("heartbeats_received") - before == 203
    assert cycles == 203 // 4


def test_a_receiver_does_not_sleep_while_datagrams_are_left_behind_those_that_it_refuses(
    start_pair, tmp_path
):
    key = tmp_path / "orders.key"
    key.write_text(bytes(range(32)).hex())
    key.chmod(0o600)
    pair = start_pair(security_profiles={"orders": {"secret_file": str(key)}})
    connect(pair, 1, f"{CHANNEL}|security=orders")
    pair.receiver.do_work()
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.RECEIVER, 20121))
    stranger.send(*[bytes(64)] * 203)

    works = [pair.receiver.media_driver.do_work()]
    while works[-1] > 0:
        works.append(pair.receiver.media_driver.do_work())

    assert len(works) > 203 // 64


def test_a_quiet_image_sends_status_messages_at_their_interval(pair):
    connect(pair, 1)

    gaps_ns = gaps_of(pair, pair.RECEIVER, is_status_message, 4 * S)

    assert max(gaps_ns) <= 201 * MS
    assert min(gaps_ns[1:-1]) >= 180 * MS
    assert min(gaps_ns[10:-1]) >= 199 * MS


def test_quiet_streams_stay_connected(pair):
    publications, subscriptions = connect(pair, STREAMS)

    pair.run_for(30 * S)

    assert all(each.is_connected for each in (*publications, *subscriptions))


@pytest.mark.parametrize("channel", ["aeron:ipc", CHANNEL])
def test_the_first_message_of_a_publisher_that_does_not_ring_is_found_within_a_millisecond(pair, channel):
    subscriber = pair.subscriber if channel == CHANNEL else pair.publisher
    subscriptions = [pair.result(subscriber.add_subscription_async(channel, n)) for n in range(STREAMS)]
    publications = [pair.add_publication(channel, n) for n in range(STREAMS)]
    pair.run_until(lambda: all(each.is_connected for each in publications))
    pair.run_for(1 * S)
    pair.idle_step_ns = 50 * US

    for publication in publications:
        position = publication.offer(bytes(100))
        (counter,) = (
            each
            for each in pair.sender.find_counters("pub-pos")
            if each.label.partition(": ")[2].startswith(f"{publication.registration_id} ")
        )
        took_ns = pair.run_until(lambda: pair.sender.counters.value(counter.id) == position)  # noqa: B023
        assert took_ns <= 1 * MS

    pair.run_until(lambda: all(each.poll_many() for each in subscriptions[-1:]))


def test_a_lost_first_message_is_requested_when_a_heartbeat_shows_it(start_pair):
    pair = start_pair(link=SimulatedLink())
    (publication,), (subscription,) = connect(pair, 1)
    pair.network.partition(pair.SENDER, pair.RECEIVER)
    assert publication.offer(b"lost") > 0
    pair.run_for(5 * MS)
    pair.network.heal(pair.SENDER, pair.RECEIVER)

    took_ns = pair.run_until(subscription.poll_many)

    assert took_ns <= LONGEST_GAP_NS


def test_a_quiet_stream_ends_its_images_when_it_is_closed(pair):
    (publication,), (subscription,) = connect(pair, 1)

    publication.close()
    took_ns = pair.run_until(lambda: not subscription.is_connected)

    # The conductors of both drivers have timers of a second.
    assert took_ns <= 3 * S


def test_a_publisher_of_a_quiet_stream_learns_that_its_receiver_has_gone(pair):
    (publication,), _ = connect(pair, 1)
    pair.network.partition(pair.SENDER, pair.RECEIVER)

    took_ns = pair.run_until(lambda: not publication.is_connected, within_ns=20 * S)

    assert took_ns <= 5_200 * MS


def test_a_publisher_of_a_quiet_stream_learns_at_once_that_its_receiver_rejects_it(lone, receiver):
    receiver.send(ErrorFrame(receiver_id=5, **IDS))

    took_ns = lone.run_until(lambda: not receiver.publication.is_connected)

    assert took_ns <= 2 * MS


@pytest.mark.parametrize("delay_ns", [5 * MS, 11 * MS, 12 * MS, 17 * MS, 23 * MS])
def test_a_delayed_retransmission_of_a_quiet_stream_is_sent_at_its_time(start_driver, delay_ns):
    driver = start_driver(retransmit_unicast_delay_ns=delay_ns)
    receiver = PlayedReceiver(driver)
    assert receiver.has_received_data()
    driver.idle_step_ns = 100 * US

    receiver.send(Nak(length=64, **IDS))
    took_ns = driver.run_until(receiver.has_received_data)

    assert delay_ns <= took_ns <= delay_ns + 1 * MS
