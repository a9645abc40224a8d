"""Secured channels in each mode, by a group secret and by identities, between two of our drivers on real sockets."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import time

import pytest
from aeron_security.identity_files import AllowedPeer, read_identity, write_identity, write_peers
from aeron_security.key_files import write_secret
from aeron_security.noise import public_key_of

import aeron_core

pytestmark = pytest.mark.interop

KEYS = ("a group secret", "identities")
COUNT = 2000
SECURITY = "|security=orders"


@pytest.fixture
def profiles(tmp_path, keys):
    """Return the profiles of the sending and of the receiving driver."""
    if keys == "a group secret":
        write_secret(tmp_path / "orders.key")
        return [{"orders": {"secret_file": str(tmp_path / "orders.key")}}] * 2
    made, keys_of = [], {}
    for name in ("one", "two"):
        write_identity(tmp_path / name)
        keys_of[name] = public_key_of(read_identity(tmp_path / name))
    for name, other in (("one", "two"), ("two", "one")):
        write_peers(tmp_path / f"{name}.peers", [AllowedPeer(other, keys_of[other])])
        options = {"identity": str(tmp_path / name), "allow": str(tmp_path / f"{name}.peers")}
        made.append({"orders": {"protector": "identities", **options}})
    return made


@pytest.fixture
def start(profiles):
    """Return a function that starts the sending (0) or the receiving (1) driver, and returns a client."""
    with contextlib.ExitStack() as stack:

        def launch(index, **settings):
            settings |= {"security_profiles": profiles[index], "security_required": True}
            driver = stack.enter_context(aeron_core.MediaDriver.launch_embedded(settings))
            return stack.enter_context(aeron_core.connect(driver.aeron_dir))

        yield launch


@pytest.fixture
def clients(start):
    return start(0), start(1)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def transfer(publication, subscriptions):
    """Send messages; return whether each subscription receives all of them, in order."""
    messages = [os.urandom(200) for _ in range(COUNT)]
    expected = hashlib.sha256(b"".join(messages)).digest()
    received = [bytearray() for _ in subscriptions]
    waiting, deadline_s = messages[::-1], time.monotonic() + 60
    while not publication.is_connected or not all(each.is_connected for each in subscriptions):
        time.sleep(0.001)
        assert time.monotonic() < deadline_s, "not connected"
    while any(len(each) < 200 * COUNT for each in received):
        while waiting and publication.offer(waiting[-1]) > 0:
            waiting.pop()
        for into, subscription in zip(received, subscriptions, strict=True):
            subscription.poll(lambda buffer, _, into=into: into.extend(buffer), 100)
        assert time.monotonic() < deadline_s, [len(each) for each in received]
    return all(hashlib.sha256(each).digest() == expected for each in received)


@pytest.mark.compatible("secure UDP with {keys}, unicast", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_unicast(clients, keys):
    (port,) = free_ports(1)
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}{SECURITY}"
    subscription = clients[1].add_subscription(channel, 1001)

    assert transfer(clients[0].add_publication(channel, 1001), [subscription])


@pytest.mark.compatible("secure UDP with {keys}, multicast", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_multicast(clients, keys):
    (port,) = free_ports(1)
    channel = f"aeron:udp?endpoint=224.0.1.97:{port}|interface=127.0.0.1{SECURITY}"
    subscription = clients[1].add_subscription(channel, 1001)

    assert transfer(clients[0].add_publication(channel, 1001), [subscription])


@pytest.mark.compatible("secure UDP with {keys}, MDC dynamic", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_mdc_dynamic(clients, keys):
    control, *ports = free_ports(3)
    channel = f"aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic{SECURITY}"
    subscriptions = [
        clients[1].add_subscription(f"{channel}|endpoint=127.0.0.1:{port}", 1001) for port in ports
    ]

    assert transfer(clients[0].add_publication(f"{channel}|fc=min,g:/2", 1001), subscriptions)


@pytest.mark.compatible("secure UDP with {keys}, MDC manual", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_mdc_manual(clients, keys):
    endpoints = [f"aeron:udp?endpoint=127.0.0.1:{port}" for port in free_ports(2)]
    subscriptions = [clients[1].add_subscription(each + SECURITY, 1001) for each in endpoints]
    publication = clients[0].add_publication(f"aeron:udp?control-mode=manual|fc=min,g:/2{SECURITY}", 1001)
    for each in endpoints:
        publication.add_destination(each)

    assert transfer(publication, subscriptions)


@pytest.mark.compatible("secure UDP with {keys}, MDS", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_mds(clients, keys):
    endpoints = [f"aeron:udp?endpoint=127.0.0.1:{port}" for port in free_ports(2)]
    subscription = clients[1].add_subscription(f"aeron:udp?control-mode=manual{SECURITY}", 1001)
    for each in endpoints:
        subscription.add_destination(each)

    assert transfer(clients[0].add_publication(endpoints[1] + SECURITY, 1001), [subscription])


@pytest.mark.compatible("secure UDP with {keys}, response channel", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_response_channel(clients, keys):
    port, control_port = free_ports(2)
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}{SECURITY}"
    control = f"aeron:udp?control-mode=response|control=127.0.0.1:{control_port}{SECURITY}"
    requests = clients[1].add_subscription(channel, 1001)
    answers = clients[0].add_subscription(control, 1002)
    request = clients[0].add_publication(f"{channel}|response-correlation-id={answers.registration_id}", 1001)
    request.await_connected(timeout=30)
    while not requests.images:
        time.sleep(0.001)
    correlation_id = requests.images[0].correlation_id

    answer = clients[1].add_publication(f"{control}|response-correlation-id={correlation_id}", 1002)
    assert transfer(answer, [answers])


@pytest.mark.compatible("secure UDP with {keys}, gossip of names", "our driver → our driver")
@pytest.mark.parametrize("keys", KEYS)
def test_gossip_of_names(start, keys):
    ports = free_ports(3)
    clients = [
        start(
            index,
            name_resolver="driver",
            resolver_name=f"node-{index}",
            resolver_interface=f"127.0.0.1:{ports[index]}",
            resolver_bootstrap_neighbors=(f"127.0.0.1:{ports[0]}",) if index else (),
            resolver_security="orders",
        )
        for index in (1, 0)
    ]
    publisher, subscriber = clients[::-1]
    subscription = subscriber.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{ports[2]}{SECURITY}", 1001)
    deadline_s = time.monotonic() + 30
    while True:
        try:
            publication = publisher.add_publication(f"aeron:udp?endpoint=node-1:{ports[2]}{SECURITY}", 1001)
            break
        except aeron_core.AeronError:
            # The name has not arrived yet.
            assert time.monotonic() < deadline_s

    assert transfer(publication, [subscription])
