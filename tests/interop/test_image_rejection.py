"""Rejection of an image at one driver notifies the publisher at the other; either one is the real driver."""

from __future__ import annotations

import queue

import pytest

import aeron_core
from aeron_core.errors import ErrorCode

pytestmark = pytest.mark.interop

# pyaeron can neither reject an image nor report a rejection, so the clients are ours.


def refuse(send_dir, receive_dir, channel, reason):
    """Return the rejection that a publisher at one driver receives, and whether it is still connected."""
    error_frames: queue.Queue = queue.Queue()
    handlers = aeron_core.ClientHandlers(on_publication_error=error_frames.put)
    with (
        aeron_core.connect(send_dir, handlers=handlers) as publisher,
        aeron_core.connect(receive_dir) as subscriber,
    ):
        subscription = subscriber.add_subscription(channel, 1001)
        publication = publisher.add_publication(channel, 1001)
        publication.await_connected(timeout=30)
        subscription.await_connected(timeout=30)
        subscription.images[0].reject(reason)
        frame = error_frames.get(timeout=30)
        assert (frame.registration_id, frame.stream_id) == (publication.registration_id, 1001)
        return frame


@pytest.mark.compatible("image rejected, UDP unicast", "{receiver_driver} rejects, the other is notified")
# Reasons of more than about 1000 bytes are allowed, but overflow a buffer of the real driver and crash it.
@pytest.mark.parametrize(
    ("receiver", "reason"),
    [
        *[(receiver, reason) for receiver in ("ours", "theirs") for reason in ("", "no", "x" * 900)],
        ("ours", "x" * 1023),
    ],
)
def test_a_publisher_at_another_driver_is_notified_of_a_rejection(
    our_driver, foreign_driver, udp_channel, receiver, reason
):
    ours, theirs = our_driver(), foreign_driver()
    send_dir, receive_dir = (theirs, ours) if receiver == "ours" else (ours, theirs)

    frame = refuse(send_dir, receive_dir, udp_channel, reason)

    assert (frame.error_code, frame.error_message) == (ErrorCode.IMAGE_REJECTED, reason)
    assert frame.source is not None
    assert frame.source[0] == "127.0.0.1"


@pytest.mark.compatible("image rejected, IPC", "{driver_driver}")
# The real driver reverses the bytes of the loopback address on little-endian machines.
@pytest.mark.parametrize(("driver", "host"), [("ours", "127.0.0.1"), ("theirs", "1.0.0.127")])
def test_both_drivers_notify_an_ipc_publisher_of_a_rejection_alike(our_driver, foreign_driver, driver, host):
    directory = (our_driver if driver == "ours" else foreign_driver)()

    frame = refuse(directory, directory, "aeron:ipc", "not wanted")

    assert (frame.error_code, frame.error_message) == (ErrorCode.IMAGE_REJECTED, "not wanted")
    assert (frame.source, frame.receiver_id, frame.group_tag) == ((host, 0), -1, -1)


@pytest.mark.compatible(
    "image rejected, manual MDC", "{sender_driver} reports which destination has rejected"
)
@pytest.mark.parametrize("sender", ["ours", "theirs"])
def test_a_publisher_is_notified_which_destination_has_rejected(
    our_driver, foreign_driver, udp_channels, sender
):
    drivers = {"ours": our_driver(), "theirs": foreign_driver()}
    error_frames: queue.Queue = queue.Queue()
    handlers = aeron_core.ClientHandlers(on_publication_error=error_frames.put)
    with (
        aeron_core.connect(drivers.pop(sender), handlers=handlers) as publisher,
        aeron_core.connect(*drivers.values()) as subscriber,
    ):
        subscriptions = [subscriber.add_subscription(channel, 1001) for channel in udp_channels]
        publication = publisher.add_publication("aeron:udp?control-mode=manual", 1001)
        ids = [publication.add_destination(channel) for channel in udp_channels]
        for subscription in subscriptions:
            subscription.await_connected(timeout=30)

        subscriptions[1].images[0].reject("not wanted")

        assert error_frames.get(timeout=30).destination_registration_id == ids[1]
