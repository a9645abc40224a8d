"""Channel options between the two drivers: each driver reads the options for its own side.

Both drivers are used by our client: the commands are the same, and it exposes more of the results.
"""

from __future__ import annotations

import socket
import time

import pytest

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.interop

PATIENCE_S = 30
DIRECTIONS = pytest.mark.parametrize(("sender", "receiver"), [("ours", "theirs"), ("theirs", "ours")])
THERE = "{sender_driver} → {receiver_driver}"
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.05|seed=42|recv-msg-mask=0xF",
}
#: Options of a publication and of its subscription.
OPTIONS = {
    "session-id": ("session-id=4711", "session-id=4711"),
    "start in the middle of a term": ("init-term-id=5|term-id=7|term-offset=1024|term-length=64k", ""),
    "mtu=65504": ("mtu=65504|term-length=1m", "rcv-wnd=128k"),
    "windows and buffers": ("pub-wnd=64k|so-sndbuf=256k", "rcv-wnd=64k|so-rcvbuf=256k"),
    "nak-delay, max-resend and group": ("max-resend=64", "nak-delay=1ms|group=true"),
    "alias, sparse, rejoin, linger and eos": (
        "alias=a|sparse=false|linger=1s|eos=true",
        "alias=b|rejoin=false",
    ),
}


@pytest.fixture
def connected(our_driver, foreign_driver):
    """Start both drivers and connect a client to each."""
    clients = []

    def connect(sender, **environment):
        directories = {"ours": our_driver(**environment), "theirs": foreign_driver(**environment)}
        receiver = "theirs" if sender == "ours" else "ours"
        clients.extend(aeron_core.connect(directories[side]) for side in (sender, receiver))
        return clients

    yield connect
    for client in clients:
        client.close()


def await_true(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"timeout while waiting for {what}"
        time.sleep(0.001)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_arrival(publication, subscription, *others, count=1000, length=700):
    """Send numbered messages and check that all arrive once, in order; the other subscriptions only read."""
    publication.await_connected(timeout=PATIENCE_S)
    subscription.await_connected(timeout=PATIENCE_S)
    sent, received = 0, []
    deadline = time.monotonic() + PATIENCE_S
    while len(received) < count and time.monotonic() < deadline:
        if sent < count and publication.offer(sent.to_bytes(8, "little").ljust(length, b".")) > 0:
            sent += 1
        subscription.poll(lambda data, header: received.append(int.from_bytes(data[:8], "little")), 50)
        for other in others:
            other.poll(lambda data, header: None, 50)
    assert received == list(range(count))


@DIRECTIONS
@pytest.mark.compatible("channel options: {option}", THERE)
@pytest.mark.parametrize("option", OPTIONS)
def test_channel_options_take_effect(connected, udp_channel, sender, receiver, option):
    sending, receiving = connected(sender)
    for_publication, for_subscription = OPTIONS[option]

    subscription = receiving.add_subscription(f"{udp_channel}|{for_subscription}".rstrip("|"), 1001)
    publication = sending.add_exclusive_publication(f"{udp_channel}|{for_publication}", 1001)

    length = 60_000 if option == "mtu=65504" else 700
    check_arrival(publication, subscription, length=length)
    (image,) = subscription.images
    asked = dict(pair.split("=") for pair in for_publication.split("|"))
    assert image.session_id == int(asked.get("session-id", publication.session_id))
    assert image.mtu_length == int(asked.get("mtu", 1408))
    if "term-offset" in asked:
        assert (image.initial_term_id, image.join_position) == (5, 2 * 65536 + 1024)


@DIRECTIONS
@pytest.mark.compatible("tags, of a channel and of a session", THERE)
def test_publications_share_a_tagged_channel_and_session(connected, udp_channel, sender, receiver):
    sending, receiving = connected(sender)
    subscriptions = [receiving.add_subscription(udp_channel, stream_id) for stream_id in (1001, 1002)]

    # With a negative session id, the real driver treats two streams of one session as one.
    options = "tags=21,22|session-id=99|term-length=128k|mtu=4096"
    tagged = sending.add_exclusive_publication(f"{udp_channel}|{options}", 1001)
    other = sending.add_exclusive_publication("aeron:udp?tags=21|session-id=tag:22", 1002)

    assert other.session_id == tagged.session_id
    for publication, subscription in zip((tagged, other), subscriptions, strict=True):
        check_arrival(publication, subscription)
        assert (subscription.images[0].term_length, subscription.images[0].mtu_length) == (131072, 4096)


@DIRECTIONS
@pytest.mark.compatible("port 0, chosen by the receiver", THERE)
def test_a_publication_reaches_the_port_chosen_for_a_subscription(connected, sender, receiver):
    sending, receiving = connected(sender)
    subscription = receiving.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 1001)

    await_true(lambda: subscription.resolved_endpoint() is not None, "the port")
    publication = sending.add_publication(f"aeron:udp?endpoint={subscription.resolved_endpoint()}", 1001)

    check_arrival(publication, subscription)


@DIRECTIONS
@pytest.mark.compatible("reliable=false, gaps are filled, with loss", THERE)
def test_gaps_of_an_unreliable_stream_are_skipped(connected, udp_channel, sender, receiver):
    sending, receiving = connected(sender, **LOSS)
    subscription = receiving.add_subscription(f"{udp_channel}|reliable=false", 1001)
    publication = sending.add_publication(udp_channel, 1001)
    publication.await_connected(timeout=PATIENCE_S)
    subscription.await_connected(timeout=PATIENCE_S)
    sent, received = 0, []

    def has_message_1000():
        nonlocal sent
        if publication.offer(sent.to_bytes(8, "little").ljust(700, b".")) > 0:
            sent += 1
        subscription.poll(lambda data, header: received.append(int.from_bytes(data[:8], "little")), 50)
        return bool(received) and received[-1] >= 1000

    await_true(has_message_1000, "message 1000")
    assert received == sorted(set(received))
    assert len(received) < received[-1]


@DIRECTIONS
@pytest.mark.compatible("SETUP refused: mtu above the receiver's window", THERE)
def test_a_stream_with_an_mtu_above_the_window_of_the_receiver_is_refused(
    our_driver, foreign_driver, udp_channel, sender, receiver
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    receiver_dir = drivers[receiver]()
    with aeron_core.connect(drivers[sender]()) as sending, aeron_core.connect(receiver_dir) as receiving:
        subscription = receiving.add_subscription(f"{udp_channel}|rcv-wnd=4k", 1001)
        publication = sending.add_publication(f"{udp_channel}|mtu=8k", 1001)

        errors = DriverFiles.open(receiver_dir).cnc.error_log
        await_true(
            lambda: any(
                "mtuLength=8192 > initialWindowLength=4096" in error.text for error in read_errors(errors)
            ),
            "the error",
        )
        assert not subscription.images
        assert not publication.is_connected


@DIRECTIONS
@pytest.mark.compatible("end of stream", THERE)
def test_a_subscriber_gets_the_end_position_of_a_stream(connected, udp_channel, sender, receiver):
    sending, receiving = connected(sender)
    subscription = receiving.add_subscription(udp_channel, 1001)
    publication = sending.add_publication(udp_channel, 1001)
    check_arrival(publication, subscription)
    (image,) = subscription.images
    end = publication.position

    publication.close()

    await_true(lambda: image.is_end_of_stream, "the end of the stream")
    assert (image.end_of_stream_position, image.position, image.is_revoked) == (end, end, False)


@DIRECTIONS
@pytest.mark.compatible("publication revoked", THERE)
def test_a_revoked_stream_becomes_unavailable_at_once(connected, udp_channel, sender, receiver):
    sending, receiving = connected(sender)
    subscription = receiving.add_subscription(udp_channel, 1001)
    publication = sending.add_exclusive_publication(udp_channel, 1001)
    check_arrival(publication, subscription)
    (image,) = subscription.images

    publication.revoke()

    await_true(lambda: not subscription.images, "the end of the image")
    assert image.is_revoked


@DIRECTIONS
@pytest.mark.compatible("tagged flow control, of a group of two", THERE)
def test_a_sender_is_connected_when_the_tagged_group_has_its_minimum(connected, sender, receiver):
    sending, receiving = connected(sender)
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    publication = sending.add_publication(f"aeron:udp?{control}|fc=tagged,g:7/2,t:5s", 1001)
    untagged = receiving.add_subscription(f"aeron:udp?endpoint=127.0.0.1:0|{control}|gtag=8", 1001)
    first = receiving.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}|gtag=7", 1001)
    for subscription in (untagged, first):
        subscription.await_connected(timeout=PATIENCE_S)
    is_connected_early = publication.is_connected

    # The second receiver of the group is at the sender's own driver.
    second = sending.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}|gtag=7", 1001)
    second.await_connected(timeout=PATIENCE_S)

    assert not is_connected_early
    check_arrival(publication, first, second)


@pytest.mark.compatible("names by a table (csv_table)", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_name_of_the_csv_table_resolves_to_its_host(our_driver, foreign_driver, driver):
    port = free_port()
    directory = (our_driver if driver == "ours" else foreign_driver)(
        AERON_NAME_RESOLVER_SUPPLIER="csv_table",
        AERON_NAME_RESOLVER_INIT_ARGS="somewhere,127.0.0.1,127.0.0.2|elsewhere,127.0.0.2,127.0.0.1",
    )

    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", 1001)
        publication = aeron.add_publication(f"aeron:udp?endpoint=somewhere:{port}", 1001)

        check_arrival(publication, subscription)
