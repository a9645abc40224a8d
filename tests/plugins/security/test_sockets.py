"""Sealed streams over sockets of the operating system, with its offload."""

import os
import socket
import subprocess
import sys
import time

import pytest

import aeron_core

SIZES = (32, 1024, 8192)


@pytest.fixture(params=["group", "identities"])
def driver(request, profiles, identities):
    if request.param == "identities":
        # Both ends have the identity of the driver.
        profiles["orders"] = identities.profiles("one", "one")["orders"]
    with aeron_core.MediaDriver.launch_embedded(
        {"security_profiles": profiles, "term_buffer_length": "1m", "counters_buffer_length": "1m"}
    ) as made:
        yield made


@pytest.fixture
def aeron(driver):
    with aeron_core.connect(driver.aeron_dir) as made:
        yield made


def transfer(publication, subscriptions, messages):
    """Offer messages and poll each subscription until all have arrived; return them joined, by subscription."""
    received = [bytearray() for _ in subscriptions]
    length, waiting = sum(map(len, messages)), list(reversed(messages))
    deadline_s = time.monotonic() + 60
    while any(len(each) < length for each in received):
        while waiting and publication.offer(waiting[-1]) > 0:
            waiting.pop()
        for into, subscription in zip(received, subscriptions, strict=True):
            subscription.poll(lambda buffer, _, into=into: into.extend(buffer), 100)
        assert time.monotonic() < deadline_s, [len(each) for each in received]
    return received


@pytest.mark.parametrize("size", SIZES)
def test_a_stream_flows_over_sockets(aeron, size):
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0|security=orders", 1001)
    endpoint = subscription.resolved_endpoint()
    publication = aeron.add_publication(f"aeron:udp?endpoint={endpoint}|security=orders", 1001)
    publication.await_connected(timeout=30)
    messages = [os.urandom(size) for _ in range(2_000_000 // (size + 200))]

    (received,) = transfer(publication, [subscription], messages)

    assert received == b"".join(messages)


def free_port():
    """Return a UDP port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_stream_flows_to_a_group_over_sockets(aeron):
    # Another process that runs the tests must not be a member.
    port = free_port()
    channel = f"aeron:udp?endpoint=224.0.1.99:{port}|interface=127.0.0.1|security=orders"
    subscription = aeron.add_subscription(channel, 1001)
    publication = aeron.add_publication(channel, 1001)
    publication.await_connected(timeout=30)
    messages = [os.urandom(1000) for _ in range(1000)]

    (received,) = transfer(publication, [subscription], messages)

    assert received == b"".join(messages)


def start(profiles):
    return aeron_core.MediaDriver.launch_embedded({"security_profiles": profiles})


def test_a_peer_is_revoked_during_a_stream_of_two_drivers(identities):
    with (
        start(identities.profiles("one", "two")) as one,
        start(identities.profiles("two", "one")) as two,
        aeron_core.connect(one.aeron_dir) as publisher,
        aeron_core.connect(two.aeron_dir) as subscriber,
    ):
        subscription = subscriber.add_subscription("aeron:udp?endpoint=127.0.0.1:0|security=orders", 1001)
        channel = f"aeron:udp?endpoint={subscription.resolved_endpoint()}|security=orders"
        publication = publisher.add_publication(channel, 1001)
        publication.await_connected(timeout=30)
        messages = [os.urandom(1000) for _ in range(1000)]
        (received,) = transfer(publication, [subscription], messages)
        assert received == b"".join(messages)

        identities.allow("one")

        deadline_s = time.monotonic() + 30
        while publication.is_connected:
            publication.offer(b"message")
            subscription.poll(lambda *_: None)
            assert time.monotonic() < deadline_s
            # The publication is connected for 5 s more, which other tests can use.
            time.sleep(0.001)


CHILD = """
import sys, aeron_core
profiles = {"orders": {"protector": "identities", "identity": sys.argv[1], "allow": sys.argv[2]}}
with (
    aeron_core.MediaDriver.launch_embedded({"security_profiles": profiles}) as driver,
    aeron_core.connect(driver.aeron_dir) as aeron,
):
    subscription = aeron.add_subscription(sys.argv[3], 1001)
    print("ready", flush=True)
    while not subscription.poll(lambda buffer, _: print(bytes(buffer).decode(), flush=True)):
        pass
"""


@pytest.mark.system
def test_receivers_that_are_killed_in_handshakes_do_not_disturb_the_next_one(identities):
    files = [identities.profiles("two", "one")["orders"][name] for name in ("identity", "allow")]
    with (
        start(identities.profiles("one", "two")) as one,
        aeron_core.connect(one.aeron_dir) as aeron,
    ):
        control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic|security=orders"
        publication = aeron.add_publication(f"aeron:udp?{control}", 1001)
        command = [sys.executable, "-c", CHILD, *files, f"aeron:udp?endpoint=127.0.0.1:0|{control}"]
        for delay_s in (0, 0.0005, 0.001, 0.002, 0.004, None):
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                assert child.stdout.readline() == "ready\n"
                if delay_s is not None:
                    # The handshake takes place in these milliseconds.
                    time.sleep(delay_s)
                    continue
                deadline_s = time.monotonic() + 30
                while publication.offer(b"message") < 0:
                    assert time.monotonic() < deadline_s
                assert child.stdout.readline() == "message\n"
            finally:
                child.kill()
                child.communicate()
