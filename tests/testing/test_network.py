import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import DatagramProbe, Fate, SimulatedLink, SimulatedNetwork

A, B = SocketAddress.of("127.0.0.1", 1001), SocketAddress.of("127.0.0.1", 1002)
MS = 1_000_000


class Pair:
    """Two sockets of one network."""

    def __init__(self, link=None, seed=1, **options):
        self.clock = Clock.manual()
        self.network = SimulatedNetwork(self.clock, seed, link=link)
        self.a = DatagramProbe(self.network.open(DatagramOptions(A)), slots=16)
        self.b = DatagramProbe(self.network.open(DatagramOptions(B, **options)), slots=16)

    def send(self, *datagrams):
        for datagram in datagrams:
            self.a.send([(datagram, len(datagram))], B)

    def arrived(self):
        found = []
        while slots := self.b.receive():
            found += [slot.datagrams[0] for slot in slots]
        return found


def numbers(count):
    return [number.to_bytes(2, "big") for number in range(count)]


def test_datagrams_arrive_in_order_with_their_source():
    pair = Pair()
    pair.send(b"one", b"two")

    slots = pair.b.receive()

    assert [(slot.datagrams, slot.source) for slot in slots] == [([b"one"], A), ([b"two"], A)]
    assert pair.network.counts[Fate.DELIVERED] == 2


def test_runs_are_split_into_datagrams():
    pair = Pair()

    pair.a.send([(b"aabbc", 2)], B)

    assert pair.arrived() == [b"aa", b"bb", b"c"]


def test_a_datagram_arrives_when_the_clock_has_passed_its_latency():
    pair = Pair(SimulatedLink(latency_ns=5 * MS))
    pair.send(b"x")

    pair.clock.advance(5 * MS - 1)
    early = pair.arrived()
    pair.clock.advance(1)

    assert (early, pair.arrived()) == ([], [b"x"])


def test_jitter_delays_arrivals_within_its_bound():
    pair = Pair(SimulatedLink(latency_ns=MS, jitter_ns=MS))
    pair.send(*numbers(100))

    pair.clock.advance(MS - 1)
    assert pair.arrived() == []
    pair.clock.advance(MS // 2)
    half = len(pair.arrived())
    pair.clock.advance(MS)
    assert 25 < half < 75
    assert half + len(pair.arrived()) == 100


def test_a_reordered_datagram_is_overtaken():
    pair = Pair(SimulatedLink(reordering=0.2, hold_back_ns=MS))
    pair.send(*numbers(100))

    first = pair.arrived()
    pair.clock.advance(MS)
    second = pair.arrived()

    assert 5 < len(second) < 40
    assert sorted(first + second) == numbers(100)
    assert first == sorted(first)


def test_losses_match_their_share():
    pair = Pair(SimulatedLink(loss=0.3))
    pair.send(*numbers(1000))

    arrived = pair.arrived()

    assert 620 < len(arrived) < 780
    assert pair.network.counts[Fate.LOST] == 1000 - len(arrived)


def test_a_duplicated_datagram_arrives_twice():
    pair = Pair(SimulatedLink(duplication=1.0))
    pair.send(b"x")

    assert pair.arrived() == [b"x", b"x"]
    assert pair.network.counts[Fate.DUPLICATED] == 1


@given(st.integers(0, 2**64), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_equal_seeds_give_equal_results(seed, loss, duplication, reordering):
    link = SimulatedLink(loss=loss, duplication=duplication, reordering=reordering)

    def run():
        pair = Pair(link, seed)
        pair.send(*numbers(30))
        first = pair.arrived()
        pair.clock.advance(link.hold_back_ns)
        return first, pair.arrived()

    assert run() == run()


def test_different_seeds_give_different_results():
    def run(seed):
        pair = Pair(SimulatedLink(loss=0.5), seed)
        pair.send(*numbers(64))
        return pair.arrived()

    assert run(1) != run(2)


def test_other_traffic_does_not_affect_a_link():
    def run(*, is_busy):
        pair = Pair(SimulatedLink(loss=0.5))
        other = DatagramProbe(pair.network.open(DatagramOptions(SocketAddress.of("127.0.0.1", 1003))))
        for number in numbers(64):
            if is_busy:
                other.send([(b"noise", 5)], A)
            pair.send(number)
        return pair.arrived()

    assert run(is_busy=False) == run(is_busy=True)


def test_directions_are_independent():
    pair = Pair()
    pair.network.set_link(SimulatedLink(loss=1.0), source=str(A), destination=str(B))

    pair.send(b"there")
    pair.b.send([(b"back", 4)], A)

    assert pair.arrived() == []
    assert [slot.datagrams for slot in pair.a.receive()] == [[b"back"]]


def test_the_most_specific_rule_wins():
    pair = Pair(SimulatedLink(loss=1.0))
    pair.network.set_link(SimulatedLink(loss=1.0), destination="127.0.0.1")
    pair.network.set_link(SimulatedLink(), destination=str(B))

    pair.send(b"x")

    assert pair.arrived() == [b"x"]


def test_a_partition_drops_everything_until_it_heals():
    pair = Pair()
    pair.network.partition(str(A), str(B))
    pair.send(b"lost")
    pair.network.heal(str(A), str(B))
    pair.send(b"healed")

    assert pair.arrived() == [b"healed"]
    assert pair.network.counts[Fate.PARTITIONED] == 1


def test_a_full_socket_buffer_drops_datagrams():
    pair = Pair(rcvbuf_length=5)
    pair.send(b"abc", b"de", b"f")
    first = pair.arrived()
    pair.send(b"g")

    assert (first, pair.arrived()) == ([b"abc", b"de"], [b"g"])
    assert pair.network.counts[Fate.OVERFLOWED] == 1


def test_an_unbound_destination_is_unreachable():
    pair = Pair()
    pair.b.channel.close()

    pair.send(b"x")

    assert pair.network.counts[Fate.UNREACHABLE] == 1


def test_a_connected_socket_receives_from_its_peer_only():
    pair = Pair(connect=SocketAddress.of("127.0.0.1", 1003))
    peer = DatagramProbe(pair.network.open(DatagramOptions(SocketAddress.of("127.0.0.1", 1003))))

    pair.send(b"stranger")
    pair.b.send([(b"x", 1)], A)

    assert pair.arrived() == []
    assert [slot.datagrams for slot in peer.receive()] == [[b"x"]]


def test_the_log_contains_the_fate_of_each_datagram():
    pair = Pair()
    pair.clock.advance(7)
    pair.send(b"x")
    pair.network.set_link(SimulatedLink(loss=1.0))
    pair.send(b"y")

    assert [tuple(line) for line in pair.network.log] == [
        (7, str(A), str(B), b"x", Fate.DELIVERED),
        (7, str(A), str(B), b"y", Fate.LOST),
    ]
    assert pair.network.sent(source="127.0.0.1", destination=str(B)) == [b"x", b"y"]
    assert pair.network.sent(source=str(B)) == []


def test_an_address_is_bound_once():
    pair = Pair()

    with pytest.raises(OSError, match=r"cannot bind 127\.0\.0\.1:1001") as caught:
        pair.network.open(DatagramOptions(A))

    assert caught.value.errno == errno.EADDRINUSE
    pair.a.channel.close()
    pair.network.open(DatagramOptions(A))


def test_a_closed_socket_refuses_operations():
    pair = Pair()
    pair.a.channel.close()

    with pytest.raises(OSError, match=r"127\.0\.0\.1:1001 is closed") as caught:
        pair.send(b"late")

    assert caught.value.errno == errno.EBADF
    with pytest.raises(OSError, match="is closed"):
        pair.a.receive()


def test_hosts_have_independent_ports():
    network = SimulatedNetwork(Clock.manual())
    wildcard = DatagramOptions(SocketAddress.of("0.0.0.0", 20121))
    one, two = (DatagramProbe(network.host(host).open(wildcard)) for host in ("10.0.0.1", "10.0.0.2"))

    one.send([(b"x", 1)], SocketAddress.of("10.0.0.2", 20121))

    (slot,) = two.receive()
    assert str(slot.source) == "10.0.0.1:20121"
    assert str(one.channel.local_address()) == "10.0.0.1:20121"


def test_a_host_binds_to_its_own_addresses_only():
    host = SimulatedNetwork(Clock.manual()).host("10.0.0.1")

    with pytest.raises(OSError, match="no such address") as caught:
        host.open(DatagramOptions(SocketAddress.of("10.0.0.2", 1)))

    assert caught.value.errno == errno.EADDRNOTAVAIL


def test_port_0_is_any_free_port():
    network = SimulatedNetwork(Clock.manual())
    taken = DatagramOptions(SocketAddress.of("127.0.0.1", 49153))
    network.open(taken)

    ports = [
        network.open(DatagramOptions(SocketAddress.of("0.0.0.0", 0))).local_address().port for _ in range(3)
    ]

    assert ports == [49152, 49154, 49155]


def test_ipv6_has_a_loopback_address():
    network = SimulatedNetwork(Clock.manual())
    receiver = DatagramProbe(network.open(DatagramOptions(SocketAddress.of("::1", 5))))
    sender = DatagramProbe(network.open(DatagramOptions(SocketAddress.of("::", 0))))

    sender.send([(b"x", 1)], SocketAddress.of("::1", 5))

    (slot,) = receiver.receive()
    assert slot.source == SocketAddress.of("::1", 49152)
