"""Several senders in one driver: channels are divided among them, and each carries its streams."""

import os
import socket
import time
from contextlib import ExitStack, closing, suppress

import pytest

from aeron_core import connect
from aeron_core.concurrent.wake_up import CONDUCTOR, DriverBells
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import AeronError, ConfigurationError, StorageError
from aeron_core.protocol.frames import Nak
from aeron_core.settings.models import DriverSettings
from aeron_core.testing import Feed, Sink, encode_frame
from aeron_core.testing.pair import S

COUNT = 4
UDP_SEGMENT = 103
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


def test_several_senders_cannot_wait_for_signals():
    with pytest.raises(
        ConfigurationError, match="sender_threads=2: must be 1 with sender_idle_strategy=signal"
    ):
        DriverSettings(sender_threads=2, sender_idle_strategy="signal")


def test_a_channel_without_a_free_counter_counts_for_no_sender(start_pair):
    pair = start_pair(sender_threads=2)
    counters = pair.sender.media_driver._assembly.context.counters
    used = []
    with suppress(StorageError):
        while True:
            used.append(counters.allocate(1_000, "used"))
    # The next free ones: none, then one for the status of the channel, and none for its address.
    for _ in range(2):
        with pytest.raises(AeronError, match="counter"):
            pair.add_publication(CHANNELS[0], 1)
        assert counts_of(pair.sender) == [0, 0]
        counters.free(used.pop())
        pair.run_for(10 * S)


def test_clients_ring_the_conductor_but_none_of_several_senders(memory_path):
    with MediaDriver.launch({"aeron_dir": memory_path / "aeron", "sender_threads": 4}) as driver:
        bells = DriverBells(driver.aeron_dir, 1)

        assert bells.of(CONDUCTOR) is not None
        assert bells.of("sender") is None


class NakFlood:
    """A receiver of a stream that sends nothing but NAKs of no bytes: they are counted, and nothing is sent again."""

    LENGTH = 28
    COUNT = 60

    def __init__(self, client):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        channel = f"aeron:udp?endpoint=127.0.0.1:{self._socket.getsockname()[1]}|so-rcvbuf=2m"
        self._publication = client.add_exclusive_publication(channel, 1)
        self._source = self._socket.recvfrom(2048)[1]
        # One call for all (GSO).
        self._socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, self.LENGTH)
        session_id = self._publication.session_id
        nak = Nak(session_id=session_id, stream_id=1, term_id=0, term_offset=0, length=0)
        self._frames = encode_frame(nak) * self.COUNT
        self._label = f" {session_id} 1 aeron:udp"
        self.sent = 0

    def counted(self, reader):
        (value,) = (
            record.value
            for record in reader
            if record.label.startswith("snd-naks-received") and self._label in record.label
        )
        return value

    def send(self):
        self._socket.sendto(self._frames, self._source)
        self.sent += self.COUNT

    def close(self):
        self._socket.close()


def test_counters_that_several_senders_write_lose_nothing(memory_path):
    settings = {"aeron_dir": memory_path / "aeron", "sender_threads": 2, "sender_idle_strategy": "spin"}
    with MediaDriver.launch(settings) as driver, connect(driver.aeron_dir) as client, ExitStack() as stack:
        reader = client.counters_reader
        floods = [stack.enter_context(closing(NakFlood(client))) for _ in range(2)]
        deadline_s = time.monotonic() + 60
        for _ in range(200):
            # At most as many as fit into the buffers of the sockets.
            for _ in range(20):
                for flood in floods:
                    flood.send()
            while any(flood.counted(reader) < flood.sent for flood in floods):
                assert time.monotonic() < deadline_s, "a datagram is lost"
                os.sched_yield()
        (total,) = (record.value for record in reader if record.label == "NAKs received")

    assert total == sum(flood.sent for flood in floods)


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
