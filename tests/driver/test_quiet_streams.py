"""Streams in which nothing happens: when their timers run, and how soon their first message is found."""

from itertools import pairwise

import pytest

from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedLink, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
#: More than an agent checks in each duty cycle.
STREAMS = 40
HEARTBEAT_LENGTH = 32
#: Of heartbeats: their interval, a tick, and a step of the simulation.
LONGEST_GAP_NS = 111 * MS


def connect(pair, count):
    """Return publications and subscriptions that have been quiet for a second."""
    subscriptions = [pair.add_subscription(CHANNEL, number) for number in range(count)]
    publications = [pair.add_publication(CHANNEL, number) for number in range(count)]
    pair.run_until(lambda: all(each.is_connected for each in publications))
    pair.run_for(1 * S)
    return publications, subscriptions


def gaps_of(pair, source, is_chosen, duration_ns):
    """Return the times between the datagrams of one host that are chosen."""
    begun_ns = pair.now_ns
    pair.run_for(duration_ns, lambda: None)
    lines = [line for line in pair.network.log if line.time_ns >= begun_ns and line.source.startswith(source)]
    times_ns = [begun_ns, *(line.time_ns for line in lines if is_chosen(line.data)), pair.now_ns]
    return [later - earlier for earlier, later in pairwise(times_ns)]


def test_a_quiet_stream_sends_heartbeats_at_their_interval(pair):
    connect(pair, 1)

    gaps_ns = gaps_of(pair, pair.SENDER, lambda data: len(data) == HEARTBEAT_LENGTH, 2 * S)

    assert max(gaps_ns) <= LONGEST_GAP_NS
    assert min(gaps_ns[1:-1]) > 99 * MS


def test_each_of_many_quiet_streams_sends_heartbeats(pair):
    connect(pair, STREAMS)

    before = pair.sender.counted("heartbeats_sent")
    pair.run_for(10 * S)

    assert 10 * STREAMS * 9 <= pair.sender.counted("heartbeats_sent") - before <= 10 * STREAMS * 10


def test_a_quiet_image_sends_status_messages_at_their_interval(pair):
    connect(pair, 1)

    gaps_ns = gaps_of(pair, pair.RECEIVER, lambda data: len(frames_of(StatusMessage, [data])) > 0, 2 * S)

    assert max(gaps_ns) <= 212 * MS


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
