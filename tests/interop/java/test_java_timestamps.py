"""Timestamps in frames between our driver and the Java driver.

The Java driver refuses `media-rcv-ts-offset`: the JVM has no access to timestamps of the kernel. If a stream has
all three timestamps, its receiver is at our driver.
"""

from __future__ import annotations

import time

import pytest
from java_peer import JavaError
from parties import DIRECTIONS, THERE

pytestmark = pytest.mark.interop

COUNT = 100
#: One message per datagram: only the first frame of a datagram has the send timestamp.
MESSAGE = "x" * 1300


def timestamps(publication, subscription):
    """Send messages one by one; return when the first was sent and the last arrived, and what each contains."""
    publication.await_connected()
    before_ns = time.time_ns()
    received = []
    for _ in range(COUNT):
        publication.offer(MESSAGE)
        received.append(subscription.receive_timestamps())
    return before_ns, received, time.time_ns()


@pytest.mark.compatible("channel timestamps", THERE)
@DIRECTIONS
def test_send_and_receive_timestamps_are_ordered(at, udp_channel, stream_id, sender, receiver):
    subscription = at(receiver).subscription(f"{udp_channel}|channel-rcv-ts-offset=0", stream_id)
    publication = at(sender).publication(f"{udp_channel}|channel-snd-ts-offset=reserved", stream_id)

    before_ns, received, after_ns = timestamps(publication, subscription)

    for sent_ns, received_ns, _ in received:
        assert before_ns <= sent_ns <= received_ns <= after_ns


@pytest.mark.compatible("channel and media timestamps", THERE)
@pytest.mark.parametrize(
    ("sender", "receiver"),
    [
        ("java/java", "java/ours"),
        ("java/java", "ours/ours"),
        ("java/ours", "java/ours"),
        ("java/ours", "ours/ours"),
        ("ours/ours", "java/ours"),
    ],
)
def test_the_media_timestamp_is_between_those_of_sender_and_receiver(
    at, udp_channel, stream_id, sender, receiver
):
    subscription = at(receiver).subscription(
        f"{udp_channel}|media-rcv-ts-offset=0|channel-rcv-ts-offset=8", stream_id
    )
    publication = at(sender).publication(f"{udp_channel}|channel-snd-ts-offset=reserved", stream_id)

    before_ns, received, after_ns = timestamps(publication, subscription)

    for sent_ns, media_ns, received_ns in received:
        assert before_ns <= sent_ns <= media_ns <= received_ns <= after_ns


def test_the_java_driver_refuses_media_timestamps(at, udp_channel, stream_id):
    client = at("java/java")

    with pytest.raises(JavaError, match=r"Media timestamps .* not supported in the Java driver"):
        client.subscription(f"{udp_channel}|media-rcv-ts-offset=0", stream_id)
