"""Gossip between drivers on a manual clock and a simulated network."""

import errno
import socket

import pytest
from aeron_resolvers.csv_table import CsvTableNameResolver
from aeron_resolvers.driver import DriverNameResolver
from aeron_resolvers.packets import PacketChannel

from aeron_core import MediaDriver
from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import UdpSocket
from aeron_core.errors import ConfigurationError, ErrorCode, RegistrationError, StorageError
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame
from aeron_core.spi import NameResolverParams
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.name_resolver import NameResolverContext
from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.pair import MS, S, Simulation


@pytest.fixture
def simulation(tmp_path):
    with Simulation(tmp_path, idle_step_ns=5 * MS) as simulation:
        yield simulation


def start(simulation, name, address, *neighbors, interface=None, **settings):
    host = f"[{address}]" if ":" in address else address
    return simulation.add_driver(
        address,
        name_resolver="driver",
        resolver_name=name,
        resolver_interface=interface or f"{host}:8050",
        resolver_bootstrap_neighbors=neighbors,
        **settings,
    )


def value(driver, prefix):
    return driver.find_counter(prefix).value


def names(driver):
    return value(driver, "Resolver cache entries")


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


def test_a_bootstrap_name_is_resolved_off_the_conductor_and_again_while_it_does_not_answer(simulation):
    lookups = []
    simulation.start_lookup = lookups.append
    one = start(simulation, "one", "127.0.0.1", "localhost:8051")
    simulation.run_for(15 * S)
    assert len(lookups) == 1
    assert one.find_counter("Bootstrap").label.endswith("resolved=")

    lookups.pop()()
    simulation.run_for(15 * S)

    assert one.find_counter("Bootstrap").label.endswith("resolved=127.0.0.1:8051")
    assert len(lookups) == 1


def test_an_unknown_bootstrap_host_is_reported(simulation):
    one = start(simulation, "one", "127.0.0.1", "no-such-host.invalid:8051")

    simulation.run_for(1 * S)

    (error,) = one.errors()
    assert "'no-such-host.invalid:8051'" in error.text
    assert "Unable to resolve host=(no-such-host.invalid)" in error.text


@pytest.mark.parametrize("wrong", ["just:wrong", "no-port", "127.0.0.1:99999", "no-such-host.invalid:8051"])
def test_a_bootstrap_that_cannot_be_resolved_is_reported_and_the_next_one_is_tried(simulation, wrong):
    start(simulation, "two", "127.0.0.2")
    one = start(simulation, "one", "127.0.0.1", wrong, "127.0.0.2:8050")

    simulation.run_for(15 * S)

    (error,) = one.errors()
    assert f"bootstrap neighbour '{wrong}': " in error.text
    assert f"Unresolved - bootstrap_neighbor={wrong}, name-and-port={wrong}" in error.text
    assert value(one, "Resolver neighbors") == 1
    assert one.find_counter(f"Bootstrap neighbor: name={wrong}").label.endswith("resolved=")
    assert value(one, "Bootstrap neighbor: name=127.0.0.2:8050") == 1


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


ROWS = "service,10.0.0.3,10.0.0.4|first,10.0.0.1,10.0.0.1"


def test_other_names_are_resolved_by_the_fallback(simulation):
    one = start(
        simulation, "one", "10.0.0.1", resolver_fallback="csv_table", resolver_fallback_init_args=ROWS
    )
    client = simulation.add_driver("10.0.0.3").connect()
    subscription = simulation.result(client.add_subscription_async("aeron:udp?endpoint=10.0.0.3:20121", 1))

    publication = simulation.result(
        one.connect().add_publication_async("aeron:udp?endpoint=service:20121", 1)
    )

    simulation.run_until(lambda: publication.is_connected and subscription.is_connected)
    assert value(one, "NameEntry{name='service'") == 0


def test_bootstrap_names_are_resolved_by_the_fallback(simulation):
    one = start(simulation, "one", "10.0.0.1")

    two = start(
        simulation,
        "two",
        "10.0.0.2",
        "first:8050",
        resolver_fallback="csv_table",
        resolver_fallback_init_args=ROWS,
    )

    simulation.run_until(lambda: names(one) == 1)
    assert two.find_counter("Bootstrap neighbor: name=first:8050").label.endswith("resolved=10.0.0.1:8050")


class Directory:
    """A plugin with a resolver that maps service names to host and port, and host names to addresses."""

    def __init__(self, services, hosts):
        self._services = services
        self._hosts = hosts

    def lookup(self, name, uri_key, is_re_lookup):
        return self._services[name] if uri_key == "bootstrap_neighbor" else name

    def resolve(self, host, uri_key, is_re_resolution):
        return self._hosts[host]

    @hookimpl
    def aeron_name_resolvers(self):
        return {"directory": lambda params: self}


@pytest.mark.parametrize("service", ["10.0.0.1:8050", "first:8050"])
def test_a_bootstrap_name_without_a_port_is_looked_up_by_the_fallback(tmp_path, service):
    plugin = Directory({"seed": service}, {"first": "10.0.0.1"})
    with Simulation(tmp_path, plugins=[plugin], idle_step_ns=5 * MS) as simulation:
        one = start(simulation, "one", "10.0.0.1")

        two = start(simulation, "two", "10.0.0.2", "seed", resolver_fallback="directory")

        simulation.run_until(lambda: names(one) == 1)
        assert two.find_counter("Bootstrap neighbor: name=seed").label.endswith("resolved=10.0.0.1:8050")


def test_a_bootstrap_is_looked_up_again_after_its_resolver_failed(tmp_path):
    plugin = Directory({"seed": "first:8050"}, {"first": "no address"})
    with Simulation(tmp_path, plugins=[plugin], idle_step_ns=5 * MS) as simulation:
        one = start(simulation, "one", "10.0.0.1")
        two = start(simulation, "two", "10.0.0.2", "seed", resolver_fallback="directory")
        simulation.run_for(1 * S)
        assert "bootstrap neighbour 'seed': " in two.errors()[0].text

        plugin._hosts["first"] = "10.0.0.1"

        simulation.run_until(lambda: names(one) == 1, within_ns=15 * S)


def test_the_driver_resolver_cannot_be_its_own_fallback(simulation):
    with pytest.raises(
        ConfigurationError, match="resolver_fallback=driver: must be a resolver without gossip"
    ):
        start(simulation, "one", "10.0.0.1", resolver_fallback="driver")


VICTIMS = 1024
FORGED_NAME = "f" * 240


def forge(simulation, first, count):
    """Send packets with names of drivers that do not exist, as an attacker; return the bytes on the wire."""
    attacker = PacketChannel(
        simulation.network.host("10.0.0.66").open(DatagramOptions(bind=SocketAddress.of("10.0.0.66", 0)))
    )
    entries = [
        ResolutionEntry(f"{FORGED_NAME}{n}", bytes([10, 1, n >> 8, n & 0xFF]), 8050)
        for n in range(first, first + count)
    ]
    length = 0
    for start_at in range(0, count, 15):
        buffer = AtomicBuffer.allocate(65536)
        frame = ResolutionFrame(tuple(entries[start_at : start_at + 15]))
        data = buffer.get_bytes(0, frame.encode(buffer, 0))
        assert attacker.send(data, SocketAddress.of("10.0.0.1", 8050))
        length += len(data) + 28
    attacker.close()
    return length


def sent_to_victims(simulation):
    return [
        line
        for line in simulation.network.log
        if line.source == "10.0.0.1:8050"
        and ":8050" in line.destination
        and line.destination.startswith("10.1.")
    ]


def test_forged_names_do_not_amplify(simulation):
    start(simulation, "one", "10.0.0.1")
    received = 0

    for second in range(10):
        received += forge(simulation, second * 100, 100)
        simulation.run_for(1 * S)
    simulation.run_for(10 * S)

    sent = sum(len(line.data) + 28 for line in sent_to_victims(simulation))
    assert 0 < sent <= 3 * received
    # The own name only, never the forged names.
    assert {FORGED_NAME.encode() in line.data for line in sent_to_victims(simulation)} == {False}


def test_the_datagrams_of_a_duty_cycle_are_limited_while_names_are_forged(simulation):
    one = start(simulation, "one", "10.0.0.1", resolver_datagrams_per_s=1000)
    two = start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_until(lambda: value(one, "Resolver neighbors") == 1)

    for second in range(6):
        forge(simulation, second * VICTIMS // 6, VICTIMS // 6)
        simulation.run_for(1 * S)

    # All forged names are passed on, spread over many cycles.
    simulation.run_until(lambda: names(one) == names(two) == VICTIMS // 6 * 6 + 1, within_ns=4 * S)
    at = [line.time_ns // (10 * MS) for line in simulation.network.log if line.source == "10.0.0.1:8050"]
    assert max(at.count(cycle) for cycle in set(at)) <= 10 + 10  # a cycle may begin in the middle of another


def test_refused_names_are_counted_and_reported(simulation):
    one = start(simulation, "one", "10.0.0.1")

    forge(simulation, 0, 300)
    simulation.run_for(100 * MS)

    assert value(one, "Refused gossip") == 300 - 256
    (error,) = one.errors()
    assert error.text.startswith("(0) gossip: ignored entries beyond the limits")


def test_a_peer_that_answers_from_another_address_receives_the_own_name_only(simulation):
    """A driver behind an address translation."""
    start(simulation, "one", "10.0.0.1")
    start(simulation, "two", "10.0.0.2", "10.0.0.1:8050")
    translated = PacketChannel(
        simulation.network.host("10.0.0.66").open(DatagramOptions(bind=SocketAddress.of("10.0.0.66", 8050)))
    )
    buffer = AtomicBuffer.allocate(4096)
    entry = ResolutionEntry("behind", bytes([192, 168, 0, 1]), 8050, flags=wire.RES_FLAG_SELF)
    data = buffer.get_bytes(0, ResolutionFrame((entry,)).encode(buffer, 0))

    for _ in range(5):
        translated.send(data, SocketAddress.of("10.0.0.1", 8050))
        simulation.run_for(1 * S)

    sent = simulation.network.sent(source="10.0.0.1", destination="192.168.0.1")
    assert 1 <= len(sent) <= 5
    assert not any(b"two" in packet for packet in sent)
