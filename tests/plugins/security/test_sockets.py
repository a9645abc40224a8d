"""Sealed streams over sockets of the operating system, with its offload."""

import os
import time

import pytest

import aeron_core

SIZES = (32, 1024, 8192)


@pytest.fixture
def driver(tmp_path, profiles):
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


def test_a_stream_flows_to_a_group_over_sockets(aeron):
    # Of this process: another one that runs the tests must not be a member.
    port = 30000 + os.getpid() % 20000
    channel = f"aeron:udp?endpoint=224.0.1.99:{port}|interface=127.0.0.1|security=strong"
    subscription = aeron.add_subscription(channel, 1001)
    publication = aeron.add_publication(channel, 1001)
    publication.await_connected(timeout=30)
    messages = [os.urandom(1000) for _ in range(1000)]

    (received,) = transfer(publication, [subscription], messages)

    assert received == b"".join(messages)
