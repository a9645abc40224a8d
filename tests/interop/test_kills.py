"""After one side is killed, the other detects it within its timeout, nothing hangs, and a restart works."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from party_facts import DRIVER_TIMEOUT_MS, QUICK

import aeron_core
from aeron_core.concurrent.counter_types import PUBLISHER_POSITION
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
#: Far beyond any timeout of the parties, so that only a hang fails.
PATIENCE_S = 30


def await_true(condition, what: str) -> None:
    """Wait for a condition."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < PATIENCE_S, f"timeout while waiting for {what}"
        time.sleep(0.005)


def receive_one(subscription, publication) -> bytes:
    """Offer until a message arrives."""
    received = []

    def arrived() -> bool:
        publication.offer(b"again")
        subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10)
        return bool(received)

    await_true(arrived, "a message after the restart")
    return received[-1]


@pytest.mark.compatible("a party dies", "C driver killed, our client")
def test_our_client_detects_a_killed_real_driver_and_works_with_its_successor(foreign_driver):
    directory = foreign_driver()
    errors = []
    settings = aeron_core.ClientSettings(driver_timeout_ms=DRIVER_TIMEOUT_MS)
    aeron = aeron_core.connect(directory, settings, error_handler=errors.append)
    publication = aeron.add_publication("aeron:ipc", 1)
    subscription = aeron.add_subscription("aeron:ipc", 1)
    publication.await_connected(timeout=PATIENCE_S)

    foreign_driver.peers[-1].kill()
    await_true(lambda: aeron.is_closed, "the client to close itself")

    assert any(isinstance(error, aeron_core.DriverTimeoutError) for error in errors)
    assert publication.offer(b"nobody") == aeron_core.CLOSED
    assert subscription.poll(lambda buffer, header: None) == 0

    foreign_driver(directory, AERON_DRIVER_TIMEOUT="1000")
    with aeron_core.connect(directory) as successor:
        publication = successor.add_publication("aeron:ipc", 1)
        subscription = successor.add_subscription("aeron:ipc", 1)
        assert receive_one(subscription, publication) == b"again"


@pytest.mark.compatible("a party dies", "our driver killed, C client")
def test_a_real_client_detects_our_killed_driver(start, our_driver, foreign_python):
    directory = our_driver()
    client = start(foreign_python, PEERS / "foreign.py", "receive", directory, "aeron:ipc", 1, 1)
    client.await_line("ready")

    our_driver.peers[-1].kill()

    # The C client ends its process when the driver is dead.
    assert client.process.wait(PATIENCE_S) != 0
    our_driver(directory, AERON_DRIVER_TIMEOUT="1000")
    with aeron_core.connect(directory) as aeron:
        assert aeron.add_publication("aeron:ipc", 1).session_id is not None


@pytest.mark.compatible("a party dies", "C client killed, our driver ({medium})")
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_our_driver_drops_a_killed_real_publisher(start, our_driver, foreign_python, udp_channel, medium):
    directory = our_driver(**QUICK)
    channel = "aeron:ipc" if medium == "ipc" else udp_channel
    gone = []
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription(channel, 1, on_unavailable_image=gone.append)
        publisher = start(foreign_python, PEERS / "foreign.py", "send", directory, channel, 1, 10_000_000)
        received = [0]
        await_true(lambda: _count(subscription, received) > 1000, "messages of the publisher")

        publisher.kill()
        await_true(
            lambda: _count(subscription, received) >= 0 and bool(gone), "the image to become unavailable"
        )

        publication = aeron.add_publication(channel, 1)
        assert receive_one(subscription, publication) == b"again"


def _count(subscription, received) -> int:
    def on_fragment(buffer, header) -> None:
        received[0] += 1

    subscription.poll(on_fragment, 1000)
    return received[0]


@pytest.mark.compatible("a party dies", "sending C driver killed, our driver")
def test_our_driver_detects_a_killed_real_sender_and_accepts_its_successor(
    start, our_driver, foreign_driver, foreign_python, udp_channel
):
    ours = our_driver(**QUICK)
    theirs = foreign_driver()
    gone = []
    with aeron_core.connect(ours) as aeron:
        subscription = aeron.add_subscription(udp_channel, 1, on_unavailable_image=gone.append)
        start(foreign_python, PEERS / "foreign.py", "send", theirs, udp_channel, 1, 10_000_000)
        received = [0]
        await_true(lambda: _count(subscription, received) > 1000, "messages of the sender")

        foreign_driver.peers[-1].kill()
        await_true(
            lambda: _count(subscription, received) >= 0 and bool(gone), "the image to become unavailable"
        )

        successor = foreign_driver()
        start(foreign_python, PEERS / "foreign.py", "send", successor, udp_channel, 1, 10_000_000)
        before = received[0]
        await_true(lambda: _count(subscription, received) > before + 1000, "messages of the successor")


@pytest.mark.compatible("a party dies", "receiving C driver killed, our driver")
def test_our_publication_detects_a_killed_real_receiver_and_connects_to_its_successor(
    start, our_driver, foreign_driver, foreign_python, udp_channel
):
    ours = our_driver(**QUICK)
    theirs = foreign_driver()
    start(foreign_python, PEERS / "foreign.py", "receive", theirs, udp_channel, 1, 10_000_000)
    with aeron_core.connect(ours) as aeron:
        publication = aeron.add_publication(udp_channel, 1)
        publication.await_connected(timeout=PATIENCE_S)

        foreign_driver.peers[-1].kill()
        await_true(lambda: not publication.is_connected, "the publication to be disconnected")
        assert publication.offer(b"nobody") == aeron_core.NOT_CONNECTED

        successor = foreign_driver()
        start(foreign_python, PEERS / "foreign.py", "receive", successor, udp_channel, 1, 10_000_000)
        await_true(lambda: publication.offer(b"somebody") > 0, "the successor to be connected")


@pytest.mark.compatible("a party dies", "our sending driver killed, C driver")
def test_the_real_driver_detects_our_killed_sender(start, our_driver, foreign_driver, udp_channel):
    ours = our_driver()
    theirs = foreign_driver(**QUICK)
    gone = []
    with aeron_core.connect(theirs) as receiver:
        subscription = receiver.add_subscription(udp_channel, 1, on_unavailable_image=gone.append)
        sender = aeron_core.connect(ours, error_handler=lambda error: None)
        publication = sender.add_publication(udp_channel, 1)
        publication.await_connected(timeout=PATIENCE_S)
        assert receive_one(subscription, publication) == b"again"

        our_driver.peers[-1].kill()
        # Received data is still read: an image becomes unavailable when its subscribers have drained it.
        received = [0]
        await_true(
            lambda: _count(subscription, received) >= 0 and bool(gone), "the image to become unavailable"
        )
        sender.close()

        successor = our_driver()
        with aeron_core.connect(successor) as sender:
            assert receive_one(subscription, sender.add_publication(udp_channel, 1)) == b"again"


@pytest.mark.compatible("a party dies", "our client killed, C driver")
def test_the_real_driver_detects_our_killed_client(start, foreign_driver, foreign_python):
    directory = foreign_driver(**QUICK)
    receiver = start(foreign_python, PEERS / "foreign.py", "watch", directory, "aeron:ipc", 1)
    receiver.await_line("ready")
    # The real driver never unblocks the last message of a client that was killed while writing it.
    publisher = start(sys.executable, PEERS / "ours.py", "hold", directory, "aeron:ipc", 1, 1000)
    receiver.await_line("available")
    receiver.await_line("received")
    publisher.await_line("sent")
    files = DriverFiles.open(directory)
    assert PUBLISHER_POSITION in counter_types(files)

    publisher.kill()

    receiver.await_line("unavailable", PATIENCE_S)
    await_true(
        lambda: PUBLISHER_POSITION not in counter_types(files), "the publication's counters to be freed"
    )
    with aeron_core.connect(directory) as aeron:
        publication = aeron.add_publication("aeron:ipc", 1)
        await_true(lambda: publication.offer(b"again") > 0, "the real subscriber to reconnect")


@pytest.mark.compatible("a party dies", "our receiving driver killed, C driver")
def test_a_real_sender_detects_our_killed_receiver_and_connects_to_its_successor(
    start, our_driver, foreign_driver, udp_channel
):
    ours = our_driver()
    theirs = foreign_driver(**QUICK)
    with aeron_core.connect(theirs) as sender:
        publication = sender.add_publication(udp_channel, 1)
        receiver = aeron_core.connect(ours, error_handler=lambda error: None)
        subscription = receiver.add_subscription(udp_channel, 1)
        publication.await_connected(timeout=PATIENCE_S)
        assert receive_one(subscription, publication) == b"again"

        our_driver.peers[-1].kill()
        await_true(lambda: not publication.is_connected, "the real driver's publication to be disconnected")
        receiver.close()
        assert publication.offer(b"nobody") == aeron_core.NOT_CONNECTED

        with aeron_core.connect(our_driver()) as receiver:
            subscription = receiver.add_subscription(udp_channel, 1)
            assert receive_one(subscription, publication) == b"again"


@pytest.mark.compatible("a party dies", "slower C subscriber killed, our driver ({medium})")
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_our_publisher_continues_when_the_slower_of_two_real_subscribers_is_killed(
    start, our_driver, foreign_python, udp_channel, medium
):
    directory = our_driver(**QUICK)
    channel = "aeron:ipc" if medium == "ipc" else udp_channel
    stalled = start(foreign_python, PEERS / "foreign.py", "stall", directory, channel, 1)
    stalled.await_line("ready")
    with aeron_core.connect(directory) as aeron:
        publication = aeron.add_publication(channel, 1)
        stalled.await_line("available")
        reading = start(foreign_python, PEERS / "foreign.py", "watch", directory, channel, 1)
        reading.await_line("available")
        await_true(lambda: publication.offer(bytes(1000)) == aeron_core.BACK_PRESSURED, "the limit")
        limit = publication.position

        stalled.kill()

        await_true(lambda: publication.offer(bytes(1000)) > limit, "the limit to be released")
        reading.kill()
        await_true(lambda: not publication.is_connected, "the publication to be disconnected")
        assert publication.offer(b"nobody") == aeron_core.NOT_CONNECTED


def counter_types(files: DriverFiles) -> set[int]:
    return {record.type_id for record in files.counters}
