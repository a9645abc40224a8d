"""Images that wait for their first data: a flood of forged SETUP frames takes bounded memory and time."""

import gc
import random

import pytest

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
from aeron_core.driver.conductor.subscriptions.image_registrar import IMAGES_PER_CYCLE
from aeron_core.driver.receiver.awaited_images import AwaitedImages, NetworkCounts
from aeron_core.driver.receiver.image_connections import ImageConnection
from aeron_core.driver.receiver.publication_image import PublicationImage
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, US, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
TERM = 64 * 1024


def setup(session_id, mtu=1408):
    return encode_frame(Setup(session_id=session_id, stream_id=1001, term_length=TERM, mtu=mtu))


class Forgers:
    """Hosts that send SETUP frames of ever new sessions."""

    def __init__(self, pair, count=1):
        self._peers = [
            SimulatedPeer(
                pair.network, f"10.9.{number // 250}.{number % 250 + 1}", 40000, (pair.RECEIVER, 20121)
            )
            for number in range(count)
        ]
        self._next = 0

    def send_heartbeats(self):
        """Send a heartbeat of each session so far."""
        for number in range(self._next):
            self._peer_of(number).send(data_frame(frame_length=0, session_id=100_000 + number))

    def send(self, count):
        for _ in range(count):
            self._peer_of(self._next).send(setup(100_000 + self._next))
            self._next += 1

    def repeat(self, sessions):
        """Send the SETUP frames of some sessions again."""
        self._peers[0].send(*map(setup, sessions))

    def _peer_of(self, number):
        return self._peers[number % len(self._peers)]


def images(pair):
    return len(pair.receiver.find_counters("rcv-hwm"))


def errors(pair):
    return [record.text for record in pair.receiver.errors()]


@pytest.fixture
def pair(start_pair):
    pair = start_pair(awaited_images_limit=20, awaited_images_source_limit=8)
    # Two forged frames in each round: a thousand in a second.
    pair.busy_step_ns = pair.idle_step_ns = 2 * MS
    return pair


@pytest.mark.parametrize(
    ("sources", "most", "text"),
    [
        (
            1,
            8,
            "(11) refused images: 8 images of one source wait for their first data; its SETUP frames may be forged; "
            "otherwise raise awaited_images_source_limit",
        ),
        (
            100,
            20,
            "(11) refused images: 20 images wait for their first data; their SETUP frames may be forged; "
            "otherwise raise awaited_images_limit",
        ),
    ],
)
def test_forged_sessions_get_images_up_to_a_limit_of_their_source_and_of_all(
    pair, visit, sources, most, text
):
    stream = visit(pair)
    forgers = Forgers(pair, sources)
    counts = []

    def step():
        stream.step()
        forgers.send(2)
        # An image stays for seconds: reading all counters in each round would show no more.
        if pair.now_ns // (20 * MS) > len(counts):
            counts.append(images(pair) - 1)

    pair.run_for(20 * S, each=step)

    assert max(counts) == most
    assert max(len(pair.receiver.log_files()), most + 1) == most + 1
    assert errors(pair) == [text]
    assert pair.receiver.counted("errors") <= 8 * 21
    assert stream.arrives_once_and_in_order()


def test_a_host_gets_an_image_at_once_while_another_one_forges_sessions(pair):
    subscription = pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair)
    pair.run_for(1 * S, each=lambda: forgers.send(2))

    publication = pair.add_publication(CHANNEL, 1001)
    took_ns = pair.run_until(
        lambda: (forgers.send(2), publication.is_connected and subscription.is_connected)[1]
    )

    assert took_ns < 200 * MS


def test_a_host_gets_an_image_within_seconds_while_many_addresses_forge_sessions(pair):
    pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair, 100)
    steps = random.Random(7)

    def send():
        forgers.send(2)
        # Steps of one length would be in step with the timers: SETUPs of the host would always find the table full.
        step_ns = steps.randrange(1 * MS, 3 * MS)
        pair.busy_step_ns = pair.idle_step_ns = pair.long_idle_step_ns = step_ns

    pair.run_for(3 * S, each=send)
    publication = pair.add_publication(CHANNEL, 1001)

    took_ns = pair.run_until(lambda: (send(), publication.is_connected)[1], within_ns=60 * S)

    assert took_ns < 60 * S


@pytest.mark.parametrize(
    ("sources", "most", "text"),
    [
        (
            1,
            8,
            "(11) refused images: one source has 8 images; its frames may be forged; otherwise raise "
            "images_source_limit",
        ),
        (
            100,
            20,
            "(11) refused images: there are 20 images; their frames may be forged; otherwise raise images_limit",
        ),
    ],
)
def test_forged_sessions_with_heartbeats_get_images_up_to_a_limit_of_their_source_and_of_all(
    start_pair, sources, most, text
):
    pair = start_pair(images_limit=20, images_source_limit=8)
    pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair, sources)
    counts = []

    for _ in range(30):
        forgers.send(2)
        pair.run_for(50 * MS)
        forgers.send_heartbeats()
        pair.run_for(50 * MS)
        counts.append(images(pair))

    assert max(counts) == counts[-1] == most
    assert errors(pair) == [text]
    # All images end, and their permits are released.
    pair.run_for(60 * S)
    assert images(pair) == 0
    forgers.send(2 * most)
    pair.run_for(1 * S)
    assert images(pair) == most


def test_a_stream_without_rejoin_accepts_new_sessions_after_many_have_stopped(start_pair):
    pair = start_pair(
        awaited_images_limit=600, awaited_images_source_limit=600, image_liveness_timeout_ns=1 * S
    )
    pair.busy_step_ns, pair.idle_step_ns = 100 * US, 20 * MS
    subscription = pair.add_subscription(CHANNEL + "|rejoin=false", 1001)
    forgers = Forgers(pair)
    for _ in range(7):
        forgers.send(600)
        pair.run_for(5 * S)
    assert images(pair) == 0

    publication = pair.add_publication(CHANNEL, 1001)

    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    # The last ones are still away, the first ones were forgotten.
    for first, count in ((100_000 + 4000, 0), (100_000, 10)):
        forgers.repeat(range(first, first + 10))
        pair.run_for(100 * MS)
        assert images(pair) == 1 + count


def test_more_streams_than_permits_of_one_host_are_all_received(pair):
    pair.add_subscription(CHANNEL, 1001)

    publications = [pair.add_exclusive_publication(CHANNEL, 1001) for _ in range(40)]

    pair.run_until(lambda: all(publication.is_connected for publication in publications))
    assert images(pair) == 40


def test_a_sender_with_receivers_is_asked_again_when_its_setup_was_refused(pair):
    pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair)
    forgers.send(8)
    pair.run_for(10 * MS)
    # Of the same source, which has no permit left. It sends one SETUP for each request.
    sender = SimulatedPeer(pair.network, "10.9.0.1", 40001, (pair.RECEIVER, 20121))
    requests = []

    def answer():
        sender.send(data_frame(b"data", session_id=7, stream_id=1001))
        for frame in frames_of(StatusMessage, sender.receive()):
            requests.append(pair.now_ns)
            assert frame.flags & wire.SM_FLAG_SEND_SETUP
            sender.send(setup(7))

    pair.run_for(1 * S, each=answer)

    assert 5 <= len(requests) <= 11


def test_an_image_without_data_lives_for_the_liveness_timeout_if_none_is_refused(pair):
    pair.add_subscription(CHANNEL, 1001)
    Forgers(pair).send(8)
    pair.run_for(9 * S)

    assert images(pair) == 8
    pair.run_for(15 * S)
    assert images(pair) == 0


def test_permits_are_free_again_after_their_images(pair):
    pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair)

    for _ in range(3):
        forgers.send(20)
        pair.run_for(200 * MS)
        assert images(pair) == 8
        pair.run_for(30 * S)
        assert images(pair) == 0


@pytest.mark.usefixtures("few_objects")
def test_images_that_have_ended_leave_nothing_in_memory(pair):
    pair.add_subscription(CHANNEL, 1001)
    forgers = Forgers(pair, 100)
    kinds = (SubscriberPosition, PublicationImage, ImageConnection)

    def created():
        gc.collect()
        return sum(isinstance(each, kinds) for each in gc.get_objects())

    before = created()
    pair.run_for(10 * S, each=lambda: forgers.send(2))
    pair.run_for(30 * S)

    assert created() == before


def test_permits_are_free_again_after_their_subscription_was_closed(pair):
    forgers = Forgers(pair)
    for _ in range(3):
        subscription = pair.add_subscription(CHANNEL, 1001)
        forgers.send(20)
        # Some images exist, others are still to be created.
        pair.step()
        pair.step()
        subscription.close()
        pair.run_for(30 * S)

    pair.add_subscription(CHANNEL, 1001)
    forgers.send(20)
    pair.run_for(200 * MS)

    assert images(pair) == 8


def test_an_image_that_cannot_be_created_releases_its_permit(pair):
    pair.add_subscription(CHANNEL, 1001)
    peer = SimulatedPeer(pair.network, "10.9.0.1", 40000, (pair.RECEIVER, 20121))
    for session_id in range(30):
        # One datagram exceeds the receiver window of so short a term.
        peer.send(setup(session_id, mtu=65504))
        pair.run_for(1 * MS)

    peer.send(*[setup(session_id) for session_id in range(100, 120)])
    pair.run_for(100 * MS)

    assert images(pair) == 8


def test_a_burst_of_sessions_is_created_in_several_duty_cycles(start_pair):
    pair = start_pair(awaited_images_source_limit=60)
    pair.add_subscription(CHANNEL, 1001)
    Forgers(pair).send(60)
    counts = [0]

    for _ in range(100):
        pair.step()
        counts.append(len(pair.receiver.log_files()))
        assert counts[-1] - counts[-2] <= IMAGES_PER_CYCLE

    assert counts[-1] == 60


@pytest.mark.parametrize(
    ("first", "second", "is_one_source"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1", "fe80::2", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
    ],
)
def test_a_source_is_an_ipv4_host_or_an_ipv6_network(first, second, is_one_source):
    awaited = AwaitedImages(NetworkCounts(10, 1), NetworkCounts(10, 10))
    assert awaited.take(SocketAddress.of(first, 40000), 1) >= 0

    permit = awaited.take(SocketAddress.of(second, 40001), 1)

    assert (permit < 0) is is_one_source
