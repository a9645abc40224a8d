"""Streams between hosts with identities, over a simulated network."""

import os

import pytest

from aeron_core.testing.pair import MS, S

SECURED = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"
MULTICAST = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1|security=orders"
DYNAMIC = "control=10.0.0.1:20000|control-mode=dynamic|security=orders"


def messages_of(count, length=500):
    return [os.urandom(8) + number.to_bytes(4, "little") * (length // 4 - 2) for number in range(count)]


def flow(simulation, publication, subscriptions, messages):
    """Send messages; assert that each subscription gets all of them in order."""
    received = [bytearray() for _ in subscriptions]
    waiting, length = list(messages), sum(map(len, messages))

    def step():
        while waiting and publication.offer(waiting[0]) > 0:
            waiting.pop(0)
        for into, subscription in zip(received, subscriptions, strict=True):
            subscription.poll(lambda buffer, _, into=into: into.extend(buffer))
        return all(len(each) >= length for each in received)

    simulation.run_until(
        lambda: publication.is_connected and all(each.is_connected for each in subscriptions)
    )
    simulation.run_until(step, within_ns=60 * S)
    assert all(each == b"".join(messages) for each in received)


def value(driver, name):
    return driver.find_counter(f"security-{name}: ").value


@pytest.mark.parametrize("cipher", ["aes-128-gcm", "chacha20-poly1305"])
def test_a_stream_flows_after_a_handshake(start_pair, identities, cipher):
    identities.options["cipher"] = cipher
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)

    flow(pair, publication, [subscription], messages_of(200))
    pair.run_for(1200 * MS)

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
    assert pair.sender.errors() == pair.receiver.errors() == []
    assert value(pair.sender, "handshakes") >= 1
    assert value(pair.receiver, "handshakes") >= 1
