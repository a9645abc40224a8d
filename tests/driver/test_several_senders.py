"""Several senders in one driver: channels are divided among them, and each carries its streams."""

import time

import pytest

from aeron_core import connect
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import ConfigurationError
from aeron_core.settings.models import DriverSettings
from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import S

COUNT = 4
CHANNELS = [f"aeron:udp?endpoint=10.0.0.2:{20121 + number}" for number in range(COUNT)]
MESSAGES = [n.to_bytes(8, "little") * 100 for n in range(300)]


@pytest.fixture
def pair(start_pair):
    return start_pair(sender_threads=2)


def senders_of(driver):
    return list(driver.media_driver._assembly.context.senders)


def counts_of(driver):
    return [sender.endpoint_count for sender in senders_of(driver)]


def sender_of(driver, publication):
    registrars = driver.media_driver._assembly.conductor.registrars
    (found,) = (
        each.sender
        for each in registrars.network.lifecycles
        if each.registration_id == publication.registration_id
    )
    return found


class Traffic:
    """The same messages on several streams."""

    def __init__(self, publications, subscriptions):
        self._feeds = [Feed(each, MESSAGES) for each in publications]
        self._sinks = [Sink(each) for each in subscriptions]

    def has_ended(self):
        for feed, sink in zip(self._feeds, self._sinks, strict=True):
            feed.offer()
            sink.poll()
        return all(len(sink.all) == len(MESSAGES) for sink in self._sinks)

    @property
    def is_right(self):
        return all(sink.all == MESSAGES for sink in self._sinks)


def carry(simulation, publications, subscriptions):
    traffic = Traffic(publications, subscriptions)
    simulation.run_until(traffic.has_ended)
    return traffic.is_right


def test_each_sender_gets_the_same_number_of_channels(pair):
    publications = [pair.add_exclusive_publication(channel, 1) for channel in CHANNELS]

    assert counts_of(pair.sender) == [2, 2]
    assert len({sender_of(pair.sender, each) for each in publications}) == 2


def test_streams_of_all_senders_arrive_once_and_in_order(pair):
    subscriptions = [pair.add_subscription(channel, 1) for channel in CHANNELS]
    publications = [pair.add_publication(channel, 1) for channel in CHANNELS]

    assert carry(pair, publications, subscriptions)


def test_a_channel_that_is_opened_again_goes_to_the_sender_with_fewer(pair):
    first = pair.add_publication(CHANNELS[0], 1)
    kept = pair.add_publication(CHANNELS[1], 1)
    first.close()
    pair.run_until(lambda: sum(counts_of(pair.sender)) == 1, within_ns=60 * S)

    again = pair.add_publication(CHANNELS[2], 1)

    assert sender_of(pair.sender, again) is not sender_of(pair.sender, kept)


def test_channels_that_differ_in_tags_have_one_sender(pair):
    tagged = [pair.add_publication(f"{CHANNELS[0]}|tags={tag}", tag) for tag in (1, 2, 3)]

    assert len({sender_of(pair.sender, each) for each in tagged}) == 1
    assert sorted(counts_of(pair.sender)) == [0, 3]


def test_a_channel_that_cannot_be_opened_counts_for_no_sender(pair):
    with pytest.raises(Exception, match="fc must begin with"):
        pair.add_publication(f"{CHANNELS[0]}|fc=unknown", 1)
    pair.run_for(1 * S)

    assert counts_of(pair.sender) == [0, 0]


def test_a_spy_of_each_sender_reads_its_stream(start_driver):
    lone = start_driver(sender_threads=2)
    # Spies count as receivers.
    publications = [lone.add_publication(f"{channel}|ssc=true", 1) for channel in CHANNELS[:2]]
    spies = [lone.add_subscription(f"aeron-spy:{channel}", 1) for channel in CHANNELS[:2]]

    assert counts_of(lone.driver) == [1, 1]
    assert carry(lone, publications, spies)


@pytest.mark.parametrize("mode", ["SHARED", "SHARED_NETWORK"])
def test_one_network_thread_cannot_run_several_senders(mode):
    with pytest.raises(ConfigurationError, match=f"sender_threads=2: must be 1 with threading_mode={mode}"):
        DriverSettings(sender_threads=2, threading_mode=mode)


def test_threads_of_their_own_carry_the_streams_of_real_sockets(memory_path):
    settings = {"aeron_dir": memory_path / "aeron", "sender_threads": 2, "counters_buffer_length": "1m"}
    with MediaDriver.launch(settings) as driver, connect(driver.aeron_dir) as client:
        channels = ["aeron:udp?endpoint=127.0.0.1:0|term-length=64k" for _ in range(COUNT)]
        subscriptions = [client.add_subscription(channel, 1) for channel in channels]
        publications = [
            client.add_exclusive_publication(subscription.resolved_channel(), 1)
            for subscription in subscriptions
        ]
        assert [each.endpoint_count for each in driver._assembly.context.senders] == [2, 2]
        traffic = Traffic(publications, subscriptions)
        deadline_s = time.monotonic() + 60
        while not traffic.has_ended():
            assert time.monotonic() < deadline_s, "the messages do not arrive"

    assert traffic.is_right
