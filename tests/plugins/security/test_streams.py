"""Streams between two drivers whose channels are sealed, over a simulated network."""

import pytest
from hosts import flow, messages_of
from secure_udp import FRAMES, open_sealed

from aeron_core._native import wire
from aeron_core.protocol import commands
from aeron_core.testing import DriverPair, SimulatedLink

SECRET = bytes(range(32))
OVERHEAD = 56
ENDPOINT = "10.0.0.2:20121"
PLAIN = f"aeron:udp?endpoint={ENDPOINT}"
SECURED = f"{PLAIN}|security=orders"
CIPHERS = {"orders": 1, "strong": 2}
MS, S = 1_000_000, 1_000_000_000
#: Each driver of a pair with the same name: it ignores the other one, but sends it names.
GOSSIP = {
    "name_resolver": "driver",
    "resolver_name": "one",
    "resolver_interface": "0.0.0.0:8050",
    "resolver_bootstrap_neighbors": ("10.0.0.1:8050", "10.0.0.2:8050"),
    "resolver_security": "orders",
    # Measured by RTTM.
    "one_way_latency_interval_ns": 100_000_000,
}


@pytest.fixture
def pair(tmp_path, profiles):
    with DriverPair(tmp_path, security_profiles=profiles) as made:
        made.long_idle_step_ns = 10 * MS
        yield made


@pytest.mark.parametrize("profile", CIPHERS)
def test_a_stream_flows_and_every_datagram_is_sealed(pair, profile):
    channel = f"{PLAIN}|security={profile}"
    subscription = pair.add_subscription(channel, 1001)
    publication = pair.add_publication(channel, 1001)

    flow(pair, publication, [subscription], messages_of(200))

    opened = [open_sealed(SECRET, CIPHERS[profile], line.data) for line in pair.network.log]
    types = {int.from_bytes(each.content[6:8], "little") for each in opened if each.kind == FRAMES}
    assert {1, 3, 5} <= types  # DATA, SM, SETUP
    assert {each.role for each in opened} == {0, 1}


def test_a_stream_starts_as_fast_as_a_plain_one_but_for_the_challenges(pair):
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)

    taken_ns = pair.run_until(lambda: publication.is_connected and subscription.is_connected)

    assert taken_ns < S / 2


def test_sealed_datagrams_are_as_long_as_the_mtu(pair):
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)

    flow(pair, publication, [subscription], [bytes(8_000)])

    assert publication.max_payload_length == 1344 - 32
    assert max(len(line.data) for line in pair.network.log) == 1344 + OVERHEAD


def test_a_stream_flows_in_spite_of_loss_and_another_order(tmp_path, profiles):
    link = SimulatedLink(loss=0.05, duplication=0.02, reordering=0.05, latency_ns=50_000)
    with DriverPair(tmp_path, link=link, security_profiles=profiles) as pair:
        subscription = pair.add_subscription(SECURED, 1001)
        publication = pair.add_publication(SECURED, 1001)

        flow(pair, publication, [subscription], messages_of(1000))

        assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


def test_counters_show_what_was_sealed_opened_and_refused(pair):
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(100))
    pair.run_for(2 * S)

    def count(driver, name):
        return driver.counters.value(driver.find_counter(f"security-{name}: ").id)

    assert count(pair.sender, "sealed") >= 50
    assert count(pair.receiver, "opened") >= 50
    assert count(pair.receiver, "refused-unproved") >= 1
    assert count(pair.receiver, "refused-forged") == 0
    assert pair.receiver.errors() == []
    assert pair.sender.errors() == []


def test_a_receiver_that_joins_and_one_that_returns_prove_themselves_again(pair):
    publication = pair.add_publication(SECURED, 1001)
    for _ in range(3):
        subscription = pair.add_subscription(SECURED, 1001)
        flow(pair, publication, [subscription], messages_of(20))
        subscription.close()
        pair.run_until(lambda: not publication.is_connected)
        pair.run_for(S)

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
    assert pair.sender.errors() == pair.receiver.errors() == []


def test_events_of_the_event_log_have_frames_and_not_what_is_on_the_wire(tmp_path, profiles):
    log = tmp_path / "events.log"
    with DriverPair(
        tmp_path, security_profiles=profiles, event_log="all", event_log_filename=str(log)
    ) as pair:
        subscription = pair.add_subscription(SECURED, 1001)
        publication = pair.add_publication(SECURED, 1001)
        flow(pair, publication, [subscription], [b"message"])

    text = log.read_text(encoding="utf-8")
    assert "type=SETUP" in text or "SETUP" in text
    assert "AeSU" not in text
    assert SECRET.hex() not in text


MULTICAST = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1|security=orders"


def test_a_multicast_stream_flows_to_several_receivers(tmp_path, profiles):
    with DriverPair(tmp_path, security_profiles=profiles) as pair:
        others = [pair.add_driver(f"10.0.0.{number}", security_profiles=profiles) for number in range(3, 6)]
        subscriptions = [pair.add_subscription(MULTICAST, 1001)]
        subscriptions += [
            pair.result(each.connect().add_subscription_async(MULTICAST, 1001)) for each in others
        ]
        publication = pair.add_publication(f"{MULTICAST}|fc=min,g:/4", 1001)

        flow(pair, publication, subscriptions, messages_of(300))

        assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
        assert all(each.errors() == [] for each in pair.drivers)


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_stream_flows_to_dynamic_destinations(tmp_path, profiles, loss):
    control = "control=10.0.0.1:20000|control-mode=dynamic|security=orders"
    with DriverPair(tmp_path, link=SimulatedLink(loss=loss), security_profiles=profiles) as pair:
        publication = pair.add_publication(f"aeron:udp?{control}|fc=min,g:/2", 1001)
        subscriptions = [
            pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:{port}|{control}", 1001)
            for port in (20001, 20002)
        ]

        flow(pair, publication, subscriptions, messages_of(300))

        assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


def test_a_stream_flows_to_manual_destinations(pair):
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders|fc=min,g:/2", 1001)
    subscriptions = [
        pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:{port}|security=orders", 1001)
        for port in (20001, 20002)
    ]
    for port in (20001, 20002):
        pair.result(publication.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))

    flow(pair, publication, subscriptions, messages_of(300))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


def test_a_subscription_receives_at_several_destinations(pair):
    subscription = pair.add_subscription("aeron:udp?control-mode=manual|security=orders", 1001)
    for port in (20001, 20002):
        pair.result(subscription.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}|security=orders"))
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders", 1001)
    for port in (20001, 20002):
        pair.result(publication.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))

    flow(pair, publication, [subscription], messages_of(300))

    assert subscription.image_count == 1


def test_a_response_channel_is_sealed(pair):
    server = pair.receiver.connect()
    requests = pair.result(server.add_subscription_async(SECURED, 1001))
    control = "aeron:udp?control-mode=response|control=10.0.0.2:20200|security=orders"
    answers = pair.result(pair.publisher.add_subscription_async(control, 1002))
    request = pair.result(
        pair.publisher.add_publication_async(
            f"{SECURED}|response-correlation-id={answers.registration_id}", 1001
        )
    )
    pair.run_until(lambda: request.is_connected and requests.images)
    correlation_id = requests.images[0].correlation_id
    answer = pair.result(
        server.add_publication_async(f"{control}|response-correlation-id={correlation_id}", 1002)
    )

    flow(pair, answer, [answers], messages_of(100))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


@pytest.mark.parametrize(
    ("sends", "receives", "text"),
    [
        (PLAIN, SECURED, "it is not sealed: set security= of the channel at its sender"),
        (f"{PLAIN}|security=other", SECURED, "it is sealed with another secret: use the same secret file"),
        (f"{PLAIN}|security=strong", SECURED, "its seal is wrong: use the same cipher for all members"),
        (SECURED, PLAIN, "frame version is not 0, or the channel of the sender has security="),
    ],
)
def test_a_mismatch_is_one_entry_of_the_error_log_and_is_not_answered(pair, sends, receives, text):
    subscription = pair.add_subscription(receives, 1001)
    publication = pair.add_publication(sends, 1001)

    pair.run_for(10 * S)

    assert not publication.is_connected
    assert not subscription.is_connected
    assert pair.network.sent(source=pair.RECEIVER) == []
    (record,) = pair.receiver.errors()
    assert text in record.text
    assert record.last_peer.startswith("10.0.0.1:")
    assert record.observation_count > 5
    assert pair.sender.errors() == []


def test_a_client_sees_that_a_peer_is_refused(pair):
    refused = []
    subscription = pair.add_subscription(SECURED, 1001)
    pair.subscriber.watch_peers(subscription, on_refused=refused.append)
    pair.add_publication(PLAIN, 1001)

    pair.run_until(lambda: refused)

    assert refused[0].reason == "security-refused-plain"


def types_of(content):
    """Yield the types of the frames in a datagram."""
    while content:
        yield int.from_bytes(content[6:8], "little")
        length = int.from_bytes(content[:4], "little")
        content = content[-(-length // 32) * 32 :] if length else b""


def test_every_type_of_frame_is_sealed(tmp_path, profiles):
    link = SimulatedLink(loss=0.05, latency_ns=50_000)
    with DriverPair(tmp_path, link=link, security_profiles=profiles, **GOSSIP) as pair:
        control = "aeron:udp?control-mode=response|control=10.0.0.2:20200|security=orders"
        requests = pair.add_subscription(SECURED, 1001)
        answers = pair.result(pair.publisher.add_subscription_async(control, 1002))
        options = f"response-correlation-id={answers.registration_id}|term-length=64k"
        request = pair.add_publication(f"{SECURED}|{options}", 1001)
        pair.run_until(lambda: request.is_connected and requests.images)
        correlation_id = requests.images[0].correlation_id
        pair.result(
            pair.subscriber.add_publication_async(f"{control}|response-correlation-id={correlation_id}", 1002)
        )
        # Beyond a term, whose end is padding.
        flow(pair, request, [requests], messages_of(100, length=1100))
        # What `Image.reject` sends, without waiting for a driver that the test has to step.
        pair.result(
            pair.subscriber._operations.command(
                "reject", commands.RejectImage, requests.images[0].correlation_id, 0, "enough"
            )
        )
        pair.run_for(3 * S)

        opened = [open_sealed(SECRET, 1, line.data) for line in pair.network.log]
        found = {kind for each in opened if each.kind == FRAMES for kind in types_of(each.content)}
        expected = ("PAD", "DATA", "NAK", "SM", "ERR", "SETUP", "RTTM", "RES", "RSP_SETUP")
        assert found == {getattr(wire, f"TYPE_{name}") for name in expected}


def test_heartbeats_of_many_streams_are_sealed_together(pair):
    subscriptions = [pair.add_subscription(SECURED, number) for number in range(70)]
    publications = [pair.add_publication(SECURED, number) for number in range(70)]
    pair.run_until(lambda: all(each.is_connected for each in (*publications, *subscriptions)))
    pair.run_for(1 * S)
    sent = pair.sender.counted("heartbeats_sent")
    received = pair.receiver.counted("heartbeats_received")

    pair.run_for(1 * S)

    assert pair.sender.counted("heartbeats_sent") - sent >= 9 * 70
    assert (
        pair.receiver.counted("heartbeats_received") - received
        == pair.sender.counted("heartbeats_sent") - sent
    )
    assert pair.receiver.errors() == []
