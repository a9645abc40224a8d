"""Sleeping agents of a driver that clients, sockets and other agents wake."""

from __future__ import annotations

import threading
import time

import pytest

from aeron_core import MediaDriver, connect
from aeron_core.device.forwarder import Forwarder

#: Longer than any test: a message that nothing announces would wait for it.
BOUND = "60s"
ROLES = ("conductor", "sender", "receiver", "sharednetwork", "shared")
TIMEOUT_S = 60


@pytest.fixture(params=["DEDICATED", "SHARED_NETWORK", "SHARED"])
def client(request, tmp_path):
    settings = {f"{role}_idle_strategy": "signal" for role in ROLES}
    settings |= {f"{role}_idle_strategy_init_args": BOUND for role in ("sender", "receiver", "sharednetwork")}
    driver = MediaDriver.launch(
        {
            "aeron_dir": tmp_path / "aeron",
            "threading_mode": request.param,
            "term_buffer_length": "64k",
            "ipc_term_buffer_length": "64k",
            "counters_buffer_length": "1m",
            "perform_storage_checks": False,
            **settings,
        }
    )
    with driver, connect(driver.aeron_dir) as client:
        yield client


def received(subscription, count):
    messages = []
    end_s = time.monotonic() + TIMEOUT_S
    while len(messages) < count and time.monotonic() < end_s:
        messages += subscription.poll_many()
    return messages


def claim(publication):
    with publication.try_claim(5) as claimed:
        claimed.buffer[:] = b"hello"
    return claimed.position


OFFERS = {
    "bytes": lambda publication: publication.offer(b"hello"),
    "buffer": lambda publication: publication.offer(bytearray(b"hello")),
    "parts": lambda publication: publication.offer([b"hel", b"lo"]),
    "many": lambda publication: publication.offer_many([b"hello"]),
    "claim": claim,
}


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
@pytest.mark.parametrize("is_exclusive", [False, True], ids=["shared", "exclusive"])
def test_a_message_to_a_sleeping_driver_is_sent_and_received_at_once(client, offer, is_exclusive):
    subscription = client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 1001)
    port = subscription.local_addresses()[0]
    add = client.add_exclusive_publication if is_exclusive else client.add_publication
    publication = add(f"aeron:udp?endpoint={port}", 1001)
    publication.await_connected(TIMEOUT_S)
    # Long enough for both agents to sleep; a busy machine makes the test easier, never wrong.
    threading.Event().wait(0.05)

    assert offer(publication) > 0

    assert received(subscription, 1) == [b"hello"]


def test_messages_that_a_device_forwards_to_a_sleeping_driver_are_received_at_once(client):
    inner, outer = (client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 1001) for _ in range(2))
    source, target = (
        client.add_exclusive_publication(f"aeron:udp?endpoint={subscription.local_addresses()[0]}", 1001)
        for subscription in (inner, outer)
    )
    for publication in (source, target):
        publication.await_connected(TIMEOUT_S)
    inner.await_connected(TIMEOUT_S)
    forwarder = Forwarder(inner.images[0], target, target.channel_peers())
    assert source.offer(b"hello") > 0
    end_s = time.monotonic() + TIMEOUT_S
    while not forwarder.has_messages() and time.monotonic() < end_s:
        pass
    threading.Event().wait(0.05)  # as above

    assert forwarder.forward(False, 0) == 0

    assert received(outer, 1) == [b"hello"]


def claim_kilobyte(publication):
    with publication.try_claim(1024) as claimed:
        return claimed.position


@pytest.mark.parametrize("offer", [lambda publication: publication.offer(bytes(1024)), claim_kilobyte])
def test_a_publisher_that_fills_the_window_of_shared_memory_gets_more(client, offer):
    subscription = client.add_subscription("aeron:ipc", 1001)
    publication = client.add_publication("aeron:ipc", 1001)
    publication.await_connected(TIMEOUT_S)
    end_s = time.monotonic() + TIMEOUT_S
    sent = 0

    while sent < 200 and time.monotonic() < end_s:
        if offer(publication) > 0:
            sent += 1
        else:
            subscription.poll_many()

    assert sent == 200
