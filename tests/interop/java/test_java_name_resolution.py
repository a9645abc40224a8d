"""Names of drivers by gossip between our driver and the Java driver, and names of our driver's table.

Over IPv6 the Java driver learns the names of other drivers, but no stream can use a name. In DriverNameResolver.java,
`preferIPv6` is the constant false: the driver announces itself in an IPv4 entry, which fails with "Invalid address
length: 16" at an IPv6 interface, and looks up IPv4 entries only.
"""

from __future__ import annotations

import pytest
from aeron_resolvers.csv_table import ROW_TYPE_ID
from java_peer import JavaError
from parties import exchange
from party_facts import await_true

from aeron_core._native.counter import AtomicCounter
from aeron_core.concurrent.error_log import read_errors
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

CACHE_ENTRIES = 16  # type of a counter
RESOLUTION_CHANGES = 25  # id of the system counter


def await_names(directory, count: int) -> None:
    """Wait until a driver has learned that many names."""
    counters = DriverFiles.open(directory).counters
    await_true(
        lambda: any(r.type_id == CACHE_ENTRIES and r.value >= count for r in counters), f"{count} names"
    )


@pytest.mark.compatible(
    "names by gossip (127.0.0.1)",
    "{publisher_driver} → {subscriber_driver}, {first_driver} is bootstrap neighbour",
)
@pytest.mark.parametrize("first", ["ours", "java"])
@pytest.mark.parametrize(("publisher", "subscriber"), [("ours", "java"), ("java", "ours")])
def test_a_publication_reaches_the_driver_named_by_its_endpoint(
    further_drivers, clients, free_port, publisher, subscriber, first
):
    second = "java" if first == "ours" else "ours"
    one, two = (f"127.0.0.1:{free_port()}" for _ in range(2))
    directories = {
        first: further_drivers.start_gossiping(first, f"driver-{first}", one),
        second: further_drivers.start_gossiping(second, f"driver-{second}", two, one),
    }
    for directory in directories.values():
        await_names(directory, 1)
    port = free_port()
    subscription = clients(subscriber, directories[subscriber]).subscription(
        f"aeron:udp?endpoint=127.0.0.1:{port}"
    )

    publication = clients(publisher, directories[publisher]).publication(
        f"aeron:udp?endpoint=driver-{subscriber}:{port}"
    )

    exchange(publication, subscription, count=500)


@pytest.mark.compatible("names by gossip (::1)", "our driver announces itself to a Java driver")
def test_a_java_driver_caches_a_name_over_ipv6_without_an_address(further_drivers, clients, free_port):
    one, two = (f"[::1]:{free_port('::1')}" for _ in range(2))
    java = further_drivers.start_gossiping("java", "driver-java", one)
    further_drivers.start_gossiping("ours", "driver-ours", two, one)

    await_names(java, 1)

    errors = DriverFiles.open(java).cnc.error_log
    await_true(
        lambda: any("Invalid address length: 16" in error.text for error in read_errors(errors)),
        "the exception of the Java driver",
    )
    with pytest.raises(JavaError, match="unresolved - endpoint=driver-ours"):
        clients("java", java).publication(f"aeron:udp?endpoint=driver-ours:{free_port('::1')}")


@pytest.mark.compatible("names by gossip", "a chain of our and Java drivers")
def test_names_are_forwarded_between_our_and_the_java_driver(further_drivers, free_port):
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(4)]
    bootstraps = ["", *addresses]
    directories = [
        further_drivers.start_gossiping(kind, name, address, bootstrap)
        for kind, name, address, bootstrap in zip(
            ("ours", "java", "ours", "java"), "abcd", addresses, bootstraps, strict=False
        )
    ]

    for directory in directories:
        await_names(directory, 3)


@pytest.mark.compatible("re-resolution", "{sender} sends, {moves_driver} restarts at another address")
@pytest.mark.parametrize(
    ("sender", "moves"), [("ours/ours", "java"), ("java/ours", "java"), ("java/java", "ours")]
)
def test_a_driver_that_restarts_at_another_address_is_found_by_name(
    further_drivers, clients, free_port, stream_id, sender, moves
):
    here = f"127.0.0.1:{free_port()}"
    client, driver = sender.split("/")
    directory = further_drivers.start_gossiping(driver, "here", here)
    port, publication = free_port("127.0.0.2"), None

    for host in ("127.0.0.2", "127.0.0.3"):
        receiver = further_drivers.start_gossiping(moves, "node", f"{host}:{free_port(host)}", here)
        await_names(directory, 1)
        subscription = clients(moves, receiver).subscription(f"aeron:udp?endpoint={host}:{port}", stream_id)
        publication = publication or clients(client, directory).publication(
            f"aeron:udp?endpoint=node:{port}", stream_id
        )
        subscription.await_images(1)
        exchange(publication, subscription, count=500)
        subscription.close()
        further_drivers.stop(receiver)

    assert DriverFiles.open(directory).system_counter(RESOLUTION_CHANGES) == 1


def select_host(directory, operation: int) -> None:
    """Set the counter of the only row of a name table."""
    (row,) = (one for one in DriverFiles.open(directory).counters if one.type_id == ROW_TYPE_ID)
    AtomicCounter(CncFile.open(directory / CNC_FILE).counters_values, row.id).set_release(operation)


@pytest.mark.compatible("names by a table (csv_table)", "Java client, our driver, with re-resolution")
def test_a_java_client_reaches_a_name_of_the_table_and_then_its_other_host(
    further_drivers, clients, free_port, tmp_path, stream_id
):
    directory = further_drivers.start_ours(
        tmp_path / "driver",
        AERON_NAME_RESOLVER_SUPPLIER="csv_table",
        AERON_NAME_RESOLVER_INIT_ARGS="node,127.0.0.1,127.0.0.2",
        AERON_PUBLICATION_CONNECTION_TIMEOUT="1s",
        AERON_TIMER_INTERVAL="200ms",
    )
    client, port = clients("java", directory), free_port()
    publication = client.publication(f"aeron:udp?endpoint=node:{port}", stream_id)

    first = client.subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", stream_id)
    exchange(publication, first, count=5000)
    first.close()
    select_host(directory, 1)
    second = client.subscription(f"aeron:udp?endpoint=127.0.0.2:{port}", stream_id)
    second.await_images(1)
    exchange(publication, second, count=5000)

    select_host(directory, -1)
    with pytest.raises(JavaError, match=r"Unable to resolve host=\(node\): \(forced\)"):
        client.publication(f"aeron:udp?endpoint=node:{free_port()}", stream_id)
