"""Timestamps in frames: kernel times, and malformed packets."""

import socket
import time

import pytest
from aeron_media.udp.sockets import open_datagrams

from aeron_core._native.clock import Clock
from aeron_core.testing import data_frame
from aeron_core.uri.channel_uri import ChannelUri

URI = "aeron:udp?endpoint=127.0.0.1:20121"
DEADLINE_S = 60
EPOCH_NS = Clock.manual(now_ns=1_000).epoch_ns()


def reserved(packet, at=0):
    return int.from_bytes(packet[at + 24 : at + 32], "little")


@pytest.fixture
def receive(lab):
    def receive_packet(packet, uri=f"{URI}|channel-rcv-ts-offset=reserved"):
        receiver = lab.open_receive(uri)
        lab.send_to(lab.open_socket(40000), lab.address_of(receiver), packet)
        receiver.poll(5)
        return lab.dispatcher.calls[0].data

    return receive_packet


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(data_frame(b"beyond", frame_length=100), id="longer than the packet"),
        pytest.param(data_frame(b"none", frame_length=0), id="no length"),
        pytest.param(data_frame(b"negative", frame_length=-32), id="negative length"),
        pytest.param(data_frame(b"lowest", frame_length=-(2**31)), id="lowest length"),
        pytest.param(data_frame(b"highest", frame_length=2**31 - 1), id="highest length"),
        pytest.param(data_frame(b"short", frame_length=31), id="less than a header"),
        pytest.param(data_frame(b"middle", flags=0x40), id="no begin"),
        pytest.param(data_frame(b"padding", frame_type=0), id="padding"),
    ],
)
def test_a_frame_that_is_not_the_whole_beginning_of_a_message_stays_as_it_is(receive, second):
    first = data_frame(b"first")

    received = receive(first + second)

    assert reserved(received) == EPOCH_NS
    assert received[: len(first)].replace(received[24:32], bytes(8)) == first
    assert received[len(first) :] == second


def test_a_heartbeat_stays_as_it_is(receive):
    assert receive(data_frame(frame_length=0)) == data_frame(frame_length=0)


@pytest.mark.parametrize(("length", "is_stamped"), [(15, False), (16, True), (17, True)])
def test_a_timestamp_is_written_only_if_it_fits_completely(receive, length, is_stamped):
    sent = data_frame(b"x" * length)

    received = receive(sent, f"{URI}|channel-rcv-ts-offset=8")

    stamped = sent[:40] + EPOCH_NS.to_bytes(8, "little") + sent[48:]
    assert received == (stamped if is_stamped else sent)


def test_what_is_sent_has_its_time_once_in_each_datagram(lab, stream):
    sender = lab.open_send(f"{URI}|channel-snd-ts-offset=reserved")
    receiver = lab.open_socket(20121)
    run = data_frame(b"one") + data_frame(b"two") + data_frame(b"three")
    padding = data_frame(frame_length=4096, frame_type=0)
    beyond = data_frame(b"beyond", frame_length=100)

    # Two datagrams in one run, the first with two frames; then frames that must stay unchanged.
    sender.send(stream, [(run, 128), (data_frame(frame_length=0), 32), (padding[:32], 32), (beyond, 64)])

    slots = receiver.receive() + receiver.receive()
    first, second, heartbeat, padded, cut = (data for slot in slots for data in slot.datagrams)
    assert (reserved(first), reserved(first, 64), reserved(second)) == (EPOCH_NS, 0, EPOCH_NS)
    assert (heartbeat, padded, cut) == (data_frame(frame_length=0), padding[:32], beyond)


@pytest.mark.parametrize("is_subscriptions", [True, False], ids=["subscription", "destination"])
@pytest.mark.parametrize("channel", [URI, "aeron:udp?endpoint=224.20.30.39:20121|interface=127.0.0.1"])
def test_the_socket_of_a_destination_has_kernel_timestamps_if_its_subscription_sets_the_key(
    lab, channel, is_subscriptions
):
    opened = []
    keyed = f"{channel}|media-rcv-ts-offset=reserved"
    subscription, destination = (keyed, channel) if is_subscriptions else (channel, keyed)

    def open_recorded(options):
        opened.append(options)
        return lab.network.open(options)

    lab.open_receive(destination, subscription=ChannelUri.parse(subscription), open_datagrams=open_recorded)

    (options,) = opened
    assert options.wants_media_timestamps is is_subscriptions
    # Datagrams joined by GRO share one timestamp.
    assert options.wants_gro is not is_subscriptions


def test_the_kernels_time_of_reception_is_that_of_the_packet_not_of_the_poll(lab):
    receiver = lab.open_receive(
        "aeron:udp?endpoint=127.0.0.1:0|media-rcv-ts-offset=reserved|channel-rcv-ts-offset=0",
        open_datagrams=open_datagrams,
        clock=Clock(),
    )
    destination = lab.address_of(receiver)
    before_ns = time.time_ns()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        for _ in range(4):
            peer.sendto(data_frame(bytes(8)), (destination.host, destination.port))

    deadline = time.monotonic() + DEADLINE_S
    while len(lab.dispatcher.calls) < 4 and time.monotonic() < deadline:
        receiver.poll(0)
    receiver.endpoint.close()

    packets = [call.data for call in lab.dispatcher.calls]
    kernel_ns = [reserved(packet) for packet in packets]
    ours_ns = [int.from_bytes(packet[32:40], "little") for packet in packets]
    # Each has its own time, although the kernel could have joined the four.
    assert kernel_ns == sorted(set(kernel_ns))
    assert before_ns <= kernel_ns[0]
    assert all(theirs < ours for theirs, ours in zip(kernel_ns, ours_ns, strict=True))
