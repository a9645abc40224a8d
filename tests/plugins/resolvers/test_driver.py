"""Gossip between drivers on a manual clock and a simulated network."""

import errno
import socket

import pytest
from aeron_resolvers.csv_table import CsvTableNameResolver
from aeron_resolvers.driver import DriverNameResolver
from aeron_resolvers.packets import PacketChannel
from gossiping import names, start, value

from aeron_core import MediaDriver
from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import UdpSocket
from aeron_core.errors import ConfigurationError, ErrorCode, RegistrationError, StorageError
from aeron_core.spi import NameResolverParams
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.name_resolver import NameResolverContext
from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.pair import MS, S


def test_a_publication_resolves_the_name_of_a_driver(simulation):
    one = start(simulation, "one", "10.0.0.1")
    two = start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_until(lambda: names(one) == 1)
    publisher, subscriber = one.connect(), two.connect()

    # Its own name resolves to its own address.
    subscription = simulation.result(subscriber.add_subscription_async("aeron:udp?endpoint=two:20121", 1))
    publication = simulation.result(publisher.add_publication_async("aeron:udp?endpoint=two:20121", 1))

    simulation.run_until(lambda: publication.is_connected and subscription.is_connected)
    assert subscription.resolved_endpoint() == "10.0.0.2:20121"
    assert subscription.images[0].source_identity.startswith("10.0.0.1:")


def test_a_chain_of_bootstraps_becomes_a_mesh(simulation):
    drivers = [start(simulation, "node-1", "10.0.0.1")]
    drivers += [start(simulation, f"node-{n}", f"10.0.0.{n}", f"10.0.0.{n - 1}:8050") for n in range(2, 5)]

    simulation.run_until(lambda: all(names(driver) == 3 for driver in drivers))
    simulation.run_for(3 * S)

    assert [value(driver, "Resolver neighbors") for driver in drivers] == [3] * 4
    assert [driver.errors() for driver in drivers] == [[]] * 4


def test_counters_show_neighbors_and_bootstraps(simulation):
    one = start(simulation, "one", "10.0.0.1", "10.0.0.2:8050", "10.0.0.9:8050")
    start(simulation, "two", "10.0.0.2")
    simulation.run_for(3 * S)

    assert [(r.type_id, r.label, r.value) for r in one.find_counters("Resolver ")] == [
        (15, "Resolver neighbors: bound 10.0.0.1:8050", 1),
        (16, "Resolver cache entries: name=one", 1),
    ]
    assert [(r.type_id, r.key[:4], r.label, r.value) for r in one.find_counters("Bootstrap ")] == [
        (21, b"\0\0\0\0", "Bootstrap neighbor: name=10.0.0.2:8050 resolved=10.0.0.2:8050", 1),
        (21, b"\1\0\0\0", "Bootstrap neighbor: name=10.0.0.9:8050 resolved=10.0.0.9:8050", 0),
    ]


def test_a_closed_driver_is_removed_and_found_again_at_a_new_address(simulation):
    one = start(simulation, "one", "10.0.0.1")
    two = start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_until(lambda: names(one) == 1)
    two.close()
    simulation.drivers.remove(two)

    simulation.run_until(lambda: names(one) == 0, within_ns=11 * S)
    client = one.connect()
    registration = client.add_publication_async("aeron:udp?endpoint=two:20121", 1)
    simulation.run_until(lambda: registration.is_done)
    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    assert raised.value.code is ErrorCode.UNKNOWN_HOST

    simulation.drivers.append(two)  # so that the next driver gets a new directory name
    start(simulation, "two", "10.0.0.99", "10.0.0.1:8050")
    simulation.drivers.remove(two)
    simulation.run_until(lambda: names(one) == 1)
    assert simulation.result(client.add_publication_async("aeron:udp?endpoint=two:20121", 1))


def test_intervals_follow_the_settings(simulation):
    start(simulation, "one", "10.0.0.1", "10.0.0.2:8050")
    start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_for(100 * MS)
    before = len(simulation.network.sent(source="10.0.0.1", destination="10.0.0.2"))

    simulation.run_for(10 * S)

    after = len(simulation.network.sent(source="10.0.0.1", destination="10.0.0.2"))
    assert after - before == 10 + 5


@pytest.mark.parametrize(("one", "two"), [("::1", "::2"), ("fd00::1", "fd00::2")])
def test_ipv6_works_with_the_loopback_too(simulation, one, two):
    first = start(simulation, "one", one)
    second = start(simulation, "two", two, f"[{one}]:8050")
    third = start(simulation, "three", "fd00::3", f"[{two}]:8050")
    simulation.run_until(lambda: names(first) == names(second) == names(third) == 2)
    client = third.connect()

    publication = simulation.result(client.add_publication_async("aeron:udp?endpoint=one:20121", 1))
    simulation.run_for(200 * MS)

    assert simulation.network.sent(source="fd00::3", destination=f"[{one}]:20121")
    assert publication.channel == "aeron:udp?endpoint=one:20121"


def test_a_driver_on_a_wildcard_address_resolves_to_its_source_address(simulation):
    one = start(simulation, "one", "10.0.0.1")
    start(simulation, "two", "10.0.0.2", "10.0.0.1:8050", interface="0.0.0.0:8050")
    simulation.run_until(lambda: names(one) == 1)
    client = one.connect()

    simulation.result(client.add_publication_async("aeron:udp?endpoint=two:20121", 1))
    simulation.run_for(200 * MS)

    assert simulation.network.sent(source="10.0.0.1", destination="10.0.0.2:20121")


def test_other_names_are_resolved_by_the_operating_system(simulation):
    one = start(simulation, "one", "10.0.0.1")

    assert simulation.result(one.connect().add_publication_async("aeron:udp?endpoint=localhost:20121", 1))


def test_gossip_survives_loss_duplication_and_reordering(simulation):
    simulation.network.set_link(SimulatedLink(loss=0.3, duplication=0.3, reordering=0.3, latency_ns=20 * MS))
    drivers = [start(simulation, "node-1", "10.0.0.1")]
    drivers += [start(simulation, f"node-{n}", f"10.0.0.{n}", "10.0.0.1:8050") for n in range(2, 6)]

    simulation.run_until(lambda: all(names(driver) == 4 for driver in drivers), within_ns=30 * S)
    simulation.run_for(30 * S)

    assert all(names(driver) == 4 for driver in drivers)


def test_malformed_packets_are_counted_and_reported_once_per_second(simulation):
    one = start(simulation, "one", "10.0.0.1")
    stranger = PacketChannel(
        simulation.network.host("10.0.0.66").open(DatagramOptions(bind=SocketAddress.of("10.0.0.66", 9000)))
    )

    for _ in range(100):
        for data in (b"x", b"\0" * 9, b"\0\0\0\0\0\0\x07\0\x01", b"\0\0\0\0\0\0\x07\0" + bytes(24)):
            assert stranger.send(data, SocketAddress.of("10.0.0.1", 8050))
    simulation.run_for(1 * S)

    assert one.counted("invalid_packets") == 400
    assert len(one.errors()) == 1


def test_malformed_packets_of_many_sources_are_one_entry_of_the_error_log_with_the_last_source(simulation):
    one = start(simulation, "one", "10.0.0.1")

    for number in range(1, 9):
        host = f"10.0.1.{number}"
        stranger = PacketChannel(
            simulation.network.host(host).open(DatagramOptions(bind=SocketAddress.of(host, 9000)))
        )
        # An entry of type 1 whose name has more bytes than its packet.
        assert stranger.send(
            b"\0\0\0\0\0\0\x07\0" + b"\1" + bytes(11) + number.to_bytes(2, "big") * 2,
            SocketAddress.of("10.0.0.1", 8050),
        )
        simulation.run_for(2 * S)

    (error,) = one.errors()
    assert error.text.startswith("(0) gossip: resolution entry with an impossible name length")
    assert error.last_peer == "10.0.1.8:9000"
    assert error.observation_count == 8


def test_another_driver_with_the_same_name_is_reported_with_its_address(simulation):
    one = start(simulation, "one", "10.0.0.1")
    start(simulation, "one", "10.0.0.2", "10.0.0.1:8050")

    simulation.run_for(2 * S)

    (error,) = one.errors()
    assert "another driver uses the name 'one'" in error.text
    assert error.last_peer == "10.0.0.2:8050"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "resolver_name"),
        ({"driver_name": "one"}, "resolver_interface"),
        ({"driver_name": "one", "interface": "here"}, "resolver_interface=here"),
        ({"driver_name": "one", "interface": "127.0.0.1:99999"}, "resolver_interface"),
        ({"driver_name": "a" * 256, "interface": "127.0.0.1:0"}, "must be from 1 to 255 bytes, has 256"),
    ],
)
def test_wrong_settings_are_refused_at_start(params, text):
    with pytest.raises(ConfigurationError, match=text):
        DriverNameResolver(NameResolverParams(**params))


def test_a_port_in_use_fails_the_start(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        with pytest.raises(OSError, match="resolver_interface"):
            MediaDriver(
                {
                    "aeron_dir": tmp_path / "driver",
                    "name_resolver": "driver",
                    "resolver_name": "one",
                    "resolver_interface": f"127.0.0.1:{port}",
                },
                invoker=True,
            )
    assert not (tmp_path / "driver").exists()


def test_a_start_that_gets_no_counter_closes_the_socket_and_the_fallback():
    class Fallback(CsvTableNameResolver):
        is_closed = False

        def close(self):
            self.is_closed = True

    def new_counter(type_id, label, key):
        raise StorageError(errno.ENOMEM, "no counter left")

    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    fallback = Fallback(NameResolverParams(options="|"))
    params = NameResolverParams(driver_name="one", interface="127.0.0.1:0", fallback=fallback)

    with pytest.raises(StorageError, match="no counter left"):
        DriverNameResolver(params).start(
            NameResolverContext(
                clock=Clock.manual(),
                system_counters={},
                open_datagrams=lambda options: UdpSocket(sock),
                new_counter=new_counter,
                set_label=lambda counter, label: None,
                start_lookup=lambda lookup: None,
                report=lambda text, *, peer="": None,
            )
        )

    assert fallback.is_closed
    assert sock.fileno() == -1
