"""More streams than are visited in every duty cycle: quiet ones lose nothing by it."""

import pytest

from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, US, S

IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=10.0.0.2:20121"
COUNT = 40
MESSAGES = [n.to_bytes(8, "little") * 100 for n in range(300)]
#: A quiet stream is checked once in a millisecond, and two agents pass a message on.
LATEST_NS = 1 * MS + 200 * US


class Streams:
    """Streams of one channel that have been connected and silent for a second."""

    def __init__(self, simulation, channel, *, silence_ns=1 * S):
        self.simulation = simulation
        self.subscriptions = [simulation.add_subscription(channel, i) for i in range(COUNT)]
        self.publications = [simulation.add_exclusive_publication(channel, i) for i in range(COUNT)]
        simulation.run_until(lambda: all(each.is_connected for each in self.publications))
        simulation.run_until(lambda: all(each.available_window for each in self.publications))
        simulation.run_for(silence_ns)
        # Short duty cycles, each of which checks a part of the streams.
        simulation.idle_step_ns = 20 * US

    def carry_everything(self, indexes):
        feeds = [Feed(self.publications[i], MESSAGES) for i in indexes]
        sinks = [Sink(self.subscriptions[i]) for i in indexes]

        def has_everything():
            for feed, sink in zip(feeds, sinks, strict=True):
                feed.offer()
                sink.poll()
            return all(len(sink.all) == len(MESSAGES) for sink in sinks)

        self.simulation.run_until(has_everything)
        return all(sink.all == MESSAGES for sink in sinks)


@pytest.fixture(params=[IPC, UDP])
def streams(request):
    return Streams(request.getfixturevalue("lone" if request.param == IPC else "pair"), request.param)


def test_a_quiet_stream_among_many_sends_its_first_message_within_a_millisecond(pair):
    streams = Streams(pair, UDP)
    latencies = []

    for publication, subscription in zip(streams.publications, streams.subscriptions, strict=True):
        sink = Sink(subscription)
        Feed(publication, [b"first"]).offer()
        latencies.append(pair.run_until(lambda sink=sink: sink.poll()))

    assert max(latencies) <= LATEST_NS


def test_quiet_streams_among_many_carry_everything(streams):
    assert streams.carry_everything([0, 17, COUNT - 1])


def test_many_streams_that_become_active_together_carry_everything(streams):
    assert streams.carry_everything(range(COUNT))


def test_the_window_of_a_quiet_stream_opens_when_a_slow_subscriber_reads(streams):
    publication, sink = streams.publications[7], Sink(streams.subscriptions[7])
    feed = Feed(publication, MESSAGES)
    # Until the window is full, and for longer than a stream that stands still counts as active.
    while feed.offer():
        streams.simulation.run_for(100 * MS)

    sink.poll()

    assert streams.simulation.run_until(lambda: publication.available_window) <= 2 * LATEST_NS


def test_a_subscriber_joins_a_quiet_stream_among_many(streams):
    simulation = streams.simulation
    channel = streams.subscriptions[0].channel
    joined = simulation.add_subscription(channel, 5)
    simulation.run_until(lambda: joined.is_connected)
    sink = Sink(joined)
    Feed(streams.publications[5], MESSAGES[:3]).offer()

    simulation.run_until(lambda: sink.poll() and len(sink.all) == 3)

    assert sink.all == MESSAGES[:3]


def test_streams_that_are_left_of_many_carry_everything(streams):
    for i in range(10, COUNT):
        streams.publications[i].close()
    streams.simulation.idle_step_ns = 1 * MS
    streams.simulation.run_until(
        lambda: not any(each.is_connected for each in streams.subscriptions[10:]), within_ns=60 * S
    )

    assert streams.carry_everything(range(10))


def test_quiet_streams_among_many_stay_connected_by_heartbeats(pair):
    streams = Streams(pair, UDP)
    pair.idle_step_ns = 1 * MS
    before = pair.sender.counted("heartbeats_sent")

    pair.run_for(5 * S, lambda: None)

    # One in 100 ms, or in a few milliseconds more.
    assert pair.sender.counted("heartbeats_sent") - before >= COUNT * 45
    assert all(each.is_connected for each in streams.publications)
    assert all(each.is_connected for each in streams.subscriptions)


def test_a_quiet_stream_among_many_is_disconnected_when_its_subscriber_leaves(streams):
    streams.simulation.idle_step_ns = 1 * MS

    streams.subscriptions[3].close()

    streams.simulation.run_until(lambda: not streams.publications[3].is_connected, within_ns=20 * S)
    assert all(each.is_connected for each in streams.publications[4:])
