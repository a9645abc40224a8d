"""Timestamps in frames between our driver and the real one, in both directions."""

from __future__ import annotations

import time

import pytest

import aeron_core

pytestmark = pytest.mark.interop

DEADLINE_S = 30
STREAM_ID = 1001


@pytest.mark.compatible("channel and media timestamps", "{sender_driver} → {receiver_driver}")
@pytest.mark.parametrize(
    ("sender", "receiver"), [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")]
)
def test_send_and_receive_timestamps_are_ordered(our_driver, foreign_driver, udp_channel, sender, receiver):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    received = []
    with (
        aeron_core.connect(drivers[sender]()) as publisher,
        aeron_core.connect(drivers[receiver]()) as subscriber,
    ):
        subscription = subscriber.add_subscription(
            f"{udp_channel}|media-rcv-ts-offset=0|channel-rcv-ts-offset=8", STREAM_ID
        )
        publication = publisher.add_publication(f"{udp_channel}|channel-snd-ts-offset=reserved", STREAM_ID)
        publication.await_connected(timeout=DEADLINE_S)
        before_ns = time.time_ns()
        deadline = time.monotonic() + DEADLINE_S
        while len(received) < 100 and time.monotonic() < deadline:
            # One message per datagram: only the first frame of a datagram has the send timestamp.
            if publication.offer(bytes(1300)) > 0:
                count = len(received)
                while len(received) == count and time.monotonic() < deadline:
                    subscription.poll(
                        lambda buffer, header: received.append((header.reserved_value, bytes(buffer[:16]))),
                        10,
                    )
        after_ns = time.time_ns()

    assert len(received) == 100
    for sent_ns, times in received:
        media_ns, channel_ns = (int.from_bytes(times[at : at + 8], "little") for at in (0, 8))
        assert before_ns <= sent_ns <= media_ns <= channel_ns <= after_ns
