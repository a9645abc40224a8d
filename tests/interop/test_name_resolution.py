"""Gossip of names between our driver and the real one."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from messages import expected_checksum

import aeron_core
from aeron_core.observation.driver_files import DriverFiles

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 1000
PATIENCE_S = 30
CACHE_ENTRIES = 16  # type of a counter
RESOLUTION_CHANGES = 25  # id of the system counter


def free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def await_names(directory: Path, count: int) -> None:
    """Wait until a driver has learned that many names."""
    counters = DriverFiles.open(directory).counters
    await_true(lambda: any(r.type_id == CACHE_ENTRIES and r.value >= count for r in counters))


def await_true(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def await_message(
    publication: aeron_core.Publication, subscription: aeron_core.Subscription, data: bytes
) -> None:
    """Offer a message until it arrives."""
    received: list[bytes] = []

    def has_arrived() -> bool:
        publication.offer(data)
        subscription.poll(lambda buffer, _: received.append(bytes(buffer)), 10)
        return data in received

    await_true(has_arrived)


def gossip(name: str, address: str, *bootstraps: str) -> dict[str, str]:
    neighbors = {"AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": ",".join(bootstraps)} if bootstraps else {}
    return {
        # Silence after which a name is resolved again.
        "AERON_PUBLICATION_CONNECTION_TIMEOUT": "1s",
        "AERON_NAME_RESOLVER_SUPPLIER": "driver",
        "AERON_DRIVER_RESOLVER_NAME": name,
        "AERON_DRIVER_RESOLVER_INTERFACE": address,
        **neighbors,
    }


@pytest.mark.compatible(
    "names by gossip ({host})",
    "{publisher_driver} → {subscriber_driver}, {first_driver} is bootstrap neighbour",
)
# The real driver gossips over IPv6, but resolves names to IPv4 only (aeron_driver_name_resolver_resolve).
@pytest.mark.parametrize(
    ("host", "publisher", "subscriber"),
    [("127.0.0.1", "ours", "theirs"), ("127.0.0.1", "theirs", "ours"), ("::1", "ours", "theirs")],
)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_publication_reaches_the_driver_named_by_its_endpoint(
    start, our_driver, foreign_driver, host, first, publisher, subscriber
):
    drivers = {"ours": our_driver, "theirs": foreign_driver}
    second = "theirs" if first == "ours" else "ours"
    text = f"[{host}]" if ":" in host else host
    one, two = (f"{text}:{free_port(host)}" for _ in range(2))
    directories = {
        first: drivers[first](**gossip(first, one)),
        second: drivers[second](**gossip(second, two, one)),
    }
    for directory in directories.values():
        await_names(directory, 1)
    port = free_port(host)
    ours = PEERS / "ours.py"

    receiving = start(
        sys.executable,
        ours,
        "receive",
        directories[subscriber],
        f"aeron:udp?endpoint={text}:{port}",
        1001,
        COUNT,
    )
    receiving.await_line("ready")
    sending = start(
        sys.executable,
        ours,
        "send",
        directories[publisher],
        f"aeron:udp?endpoint={subscriber}:{port}",
        1001,
        COUNT,
    )

    assert sending.result() == {"sent": COUNT}
    assert receiving.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.compatible("names by gossip", "a chain of our and C drivers")
def test_names_are_forwarded_between_our_and_the_real_driver(our_driver, foreign_driver):
    places = [f"127.0.0.1:{free_port('127.0.0.1')}" for _ in range(4)]
    directories = [
        our_driver(**gossip("a", places[0])),
        foreign_driver(**gossip("b", places[1], places[0])),
        our_driver(**gossip("c", places[2], places[1])),
        foreign_driver(**gossip("d", places[3], places[2])),
    ]

    for directory in directories:
        await_names(directory, 3)


@pytest.mark.compatible("re-resolution", "{moves_driver} restarts at another address")
@pytest.mark.parametrize("moves", ["ours", "theirs"])
def test_a_driver_that_restarts_at_another_address_is_found_by_name(our_driver, foreign_driver, moves):
    start_driver = {"ours": our_driver, "theirs": foreign_driver}[moves]
    here = f"127.0.0.1:{free_port('127.0.0.1')}"
    sender = our_driver(**gossip("here", here))
    port = free_port("127.0.0.2")

    with aeron_core.connect(sender) as publisher:
        publication = None
        for host in ("127.0.0.2", "127.0.0.3"):
            receiver = start_driver(**gossip("node", f"{host}:{free_port(host)}", here))
            await_names(sender, 1)
            with aeron_core.connect(receiver) as subscriber:
                subscription = subscriber.add_subscription(f"aeron:udp?endpoint={host}:{port}", 1001)
                if publication is None:
                    publication = publisher.add_publication(f"aeron:udp?endpoint=node:{port}", 1001)
                await_message(publication, subscription, host.encode())
            start_driver.peers[-1].kill()

    assert DriverFiles.open(sender).system_counter(RESOLUTION_CHANGES) == 1
