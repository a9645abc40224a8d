"""A flood of strangers is dropped in the kernel, and nothing else is."""

import os
import select
import socket

import pytest
from aeron_security._native.sealing import SealedDatagrams, SealingSession
from secure_udp import ANSWER, FRAMES, Peer, expand, prk_of

from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import UdpSocket
from aeron_core.spi.udp_offload import SOL_UDP, UDP_GRO, UDP_SEGMENT
from aeron_core.testing import DatagramProbe

SECRET = bytes(range(32))
MS, S = 1_000_000, 1_000_000_000
#: Datagrams in 10 ms, of strangers: a flood begins with 32 on the average.
FLOOD = 300
LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
PUBLICATION, SUBSCRIPTION = 0, 1
_IPV6_FREEBIND = 78  # source: linux/in6.h


class Receiver:
    """A sealed subscription on a real socket."""

    def __init__(self, family=socket.AF_INET, host=None, **options):
        self.family, self.clock = family, Clock.manual()
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((host or LOOPBACK[family], 0))
        self.session = SealingSession([SECRET], 1, SUBSCRIPTION, PUBLICATION, self.clock, **options)
        channel = SealedDatagrams(UdpSocket(self.socket), self.session)
        self.probe = DatagramProbe(channel)

    def host(self, address=None):
        """Return a socket of a host, from which datagrams are sent to this one."""
        made = socket.socket(self.family, socket.SOCK_DGRAM)
        made.bind((address or LOOPBACK[self.family], 0))
        made.connect(self.socket.getsockname())
        made.settimeout(10)
        return made

    def receive(self, *datagrams, source):
        """Receive datagrams of a host; return the contents that are opened."""
        found = []
        for datagram in datagrams:
            source.send(datagram)
            found += self._take()
        self.clock.advance(10 * MS)
        return found + self._take()

    def _take(self):
        found = []
        while select.select([self.socket], [], [], 0)[0]:
            found += [each for slot in self.probe.receive() for each in slot.datagrams if each]
        self.probe.receive()
        return found

    def passed(self, *datagrams, source):
        """Return how many datagrams of a stranger are received."""
        before = sum(self.refused().values())
        assert self.receive(*datagrams, source=source) == []
        return sum(self.refused().values()) - before

    def refused(self):
        counts = self.session.counts()
        return {name: counts[name] for name in counts.keys() - {"sealed", "opened", "rotations"}}

    def admit(self, peer, source):
        assert self.receive(peer.seal(b"first"), source=source) == []
        self.receive(peer.answer(source.recv(2048)), source=source)
        assert self.receive(peer.seal(b"second"), source=source) == [b"second"]

    def start_flood(self, source, kind=FRAMES):
        for _ in range(3):
            self.passed(*(stranger(kind) for _ in range(FLOOD)), source=source)


def stranger(kind=FRAMES):
    """Return a datagram with an unknown salt."""
    identifier = expand(prk_of(SECRET), b"id", 1)
    return b"AeSU\1" + bytes([kind, PUBLICATION]) + identifier + os.urandom(100)


@pytest.mark.parametrize("family", LOOPBACK)
@pytest.mark.parametrize("waste", [stranger, lambda: os.urandom(200), lambda: b"short", lambda: b""])
def test_a_flood_is_dropped_and_an_admitted_peer_is_received(family, waste):
    receiver, peer = Receiver(family), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host(), receiver.host()
    receiver.admit(peer, host)

    first = receiver.passed(*(waste() for _ in range(FLOOD)), source=flooder)
    receiver.start_flood(flooder)
    later = receiver.passed(*(waste() for _ in range(FLOOD)), source=flooder)

    assert first == FLOOD
    assert later < FLOOD // 8
    contents = [bytes([number]) for number in range(100)]
    assert receiver.receive(*map(peer.seal, contents), source=host) == contents
    for _ in range(3):
        peer.rotate()
        assert receiver.receive(*map(peer.seal, contents), source=host) == contents


def test_the_filter_is_removed_within_a_second_after_a_flood():
    receiver = Receiver()
    flooder = receiver.host()
    receiver.start_flood(flooder)

    receiver.receive(source=flooder)
    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    for _ in range(100):
        receiver.receive(source=flooder)

    assert receiver.passed(*(stranger() for _ in range(200)), source=flooder) == 200


def test_a_burst_is_no_flood():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host(), receiver.host()
    for _ in range(3):
        bursts = *(stranger() for _ in range(150)), *(stranger(ANSWER) for _ in range(100))
        assert receiver.passed(*bursts[::2], source=flooder) == 125
        assert receiver.passed(*bursts, source=flooder) == 250
        for _ in range(44):
            receiver.receive(source=flooder)

    receiver.admit(peer, host)


def test_a_new_peer_that_sends_much_is_admitted():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    host = receiver.host()
    # It is taken for a flood, as it was sending to others before.
    for _ in range(3):
        receiver.receive(*(peer.seal(b"data") for _ in range(FLOOD)), source=host)
    challenge = host.recv(2048)

    receiver.receive(peer.answer(challenge), source=host)

    contents = [bytes([number]) for number in range(100)]
    assert receiver.receive(*map(peer.seal, contents), source=host) == contents


def test_another_source_reaches_a_socket_that_one_floods():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host("127.0.0.3")
    receiver.start_flood(flooder)

    receiver.admit(peer, host)

    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


def test_a_flood_of_handshakes_is_dropped():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    receiver.admit(peer, host)
    receiver.start_flood(flooder, ANSWER)

    assert receiver.passed(*(stranger(ANSWER) for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


def test_a_flood_of_many_sources_is_dropped():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 101)]
    host = receiver.host()
    receiver.admit(peer, host)

    passed = []
    for _ in range(8):
        before = sum(receiver.refused().values())
        for flooder in flooders:
            for _ in range(5):
                flooder.send(stranger())
            receiver._take()
        receiver.receive(source=host)
        passed.append(sum(receiver.refused().values()) - before)

    assert passed[0] == 500
    assert passed[-1] < 300
    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


def test_a_known_salt_of_a_forger_is_not_taken_for_a_flood():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    host = receiver.host()
    receiver.admit(peer, host)
    recorded = peer.seal(b"data")
    receiver.receive(recorded, source=host)
    for _ in range(4):
        assert receiver.passed(*[recorded] * FLOOD, source=host) == FLOOD

    assert receiver.passed(*(stranger() for _ in range(200)), source=host) == 200


@pytest.mark.parametrize(
    ("count", "is_rotated", "has_filter"), [(96, False, True), (97, False, False), (60, True, True)]
)
def test_a_socket_with_many_peers_has_no_filter(count, is_rotated, has_filter):
    receiver = Receiver()
    host = receiver.host()
    for _ in range(count):
        peer = Peer(SECRET, 1, PUBLICATION)
        receiver.admit(peer, host)
        if is_rotated:
            # Its salt is then also the next one of the salt before.
            peer.rotate()
            assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]

    receiver.start_flood(host)

    passed = receiver.passed(*(stranger() for _ in range(FLOOD)), source=host)
    assert passed < FLOOD // 8 if has_filter else passed == FLOOD


def arrived(receiver, *datagrams, source):
    """Return how many datagrams of a stranger pass the filter; they are not checked."""
    receiver.probe.receive()
    count = 0
    for datagram in datagrams:
        source.send(datagram)
        while select.select([receiver.socket], [], [], 0)[0]:
            receiver.socket.recv(2048)
            count += 1
    return count


def greeting(role=PUBLICATION, to=None):
    """Return a hello of a stranger, which does not know the salt of a socket."""
    return b"AeSU\1\3" + bytes([role, 1]) + os.urandom(16) + (to or os.urandom(16)) + os.urandom(40)


def test_a_flood_of_handshakes_for_other_sockets_is_dropped():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder = receiver.host("127.0.0.2")
    for _ in range(3):
        receiver.passed(*(greeting() for _ in range(FLOOD)), source=flooder)

    assert arrived(receiver, *(greeting() for _ in range(FLOOD)), source=flooder) < FLOOD // 8


def test_a_stranger_without_the_salt_of_a_socket_does_not_keep_handshakes_from_it():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder, host = receiver.host(), receiver.host()
    for _ in range(3):
        receiver.passed(*(greeting(SUBSCRIPTION) for _ in range(FLOOD)), source=flooder)

    # Of the same source, which the stranger has forged.
    receiver.receive(greeting(to=receiver.session.salt), source=host)

    assert host.recv(2048)[5] == 4


def test_a_stranger_with_the_first_bytes_of_a_salt_does_not_keep_new_peers_out():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    # The filter passes these, because it compares four bytes of a salt. Every host can ask for it by a hello.
    begin = receiver.session.salt[:4]
    for _ in range(20):
        receiver.passed(*(greeting(to=begin + os.urandom(12)) for _ in range(FLOOD)), source=flooder)

    assert arrived(receiver, *(stranger() for _ in range(50)), source=host) == 50
    receiver.receive(greeting(to=receiver.session.salt), source=host)
    assert host.recv(2048)[5] == 4


def test_a_stranger_with_the_first_bytes_of_the_salt_of_a_peer_does_not_keep_new_peers_out():
    receiver, peer, new = Receiver(), Peer(SECRET, 1, PUBLICATION), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    receiver.admit(peer, host)
    begin = peer.seal(b"data")[:12]
    for _ in range(20):
        assert receiver.passed(*(begin + os.urandom(100) for _ in range(FLOOD)), source=flooder) == FLOOD

    receiver.admit(new, host)

    assert receiver.receive(new.seal(b"data"), source=host) == [b"data"]


def test_a_flood_of_greetings_of_one_source_keeps_no_busy_peer_out():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    for _ in range(20):
        receiver.passed(*(stranger(ANSWER) for _ in range(50)), source=flooder)
        # Enough to be noted, as the frames of a stranger would be.
        receiver.receive(*(peer.seal(b"data") for _ in range(12)), source=host)

    receiver.receive(peer.answer(host.recv(2048)), source=host)

    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


def test_a_flood_of_greetings_of_eight_sources_drops_nothing_of_another():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 9)]
    host = receiver.host()
    for _ in range(20):
        for flooder in flooders:
            for _ in range(31):
                flooder.send(stranger(ANSWER))
            receiver._take()
        receiver.receive(source=host)

    assert arrived(receiver, *(stranger(ANSWER) for _ in range(200)), source=host) == 200


@pytest.mark.parametrize(("kind", "part"), [(FRAMES, 64), (ANSWER, 8)])
def test_of_a_great_flood_of_many_sources_a_part_passes(kind, part):
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 101)]
    host = receiver.host()
    run = [stranger(kind) for _ in range(60)]
    for flooder in flooders:
        # The kernel divides it, because this socket does not accept merged datagrams.
        flooder.setsockopt(SOL_UDP, UDP_SEGMENT, len(run[0]))
    for _ in range(40):
        for flooder in flooders:
            flooder.send(b"".join(run))
            receiver._take()
        receiver.receive(source=host)

    found = arrived(receiver, *(stranger(kind) for _ in range(100 * part)), source=host)

    assert 50 <= found <= 160


def test_a_source_that_floods_no_longer_is_forgotten():
    receiver = Receiver()
    flooder, other = receiver.host("127.0.0.2"), receiver.host("127.0.0.3")
    receiver.start_flood(flooder)

    for _ in range(220):
        receiver.passed(*(stranger() for _ in range(100)), source=other)

    assert arrived(receiver, *(stranger() for _ in range(100)), source=flooder) == 100


def test_a_slow_duty_cycle_takes_no_quiet_source_for_a_flood():
    receiver = Receiver()
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    for _ in range(20):
        for _ in range(10):
            host.send(stranger())
        receiver.passed(*(stranger() for _ in range(1000)), source=flooder)
        receiver.clock.advance(90 * MS)

    assert arrived(receiver, *(stranger() for _ in range(100)), source=host) == 100


def test_a_run_of_short_datagrams_is_what_the_filter_takes_it_for():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 13)]
    host = receiver.host()
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    for flooder in flooders:
        flooder.setsockopt(SOL_UDP, UDP_SEGMENT, 8)
    for _ in range(60):
        for flooder in flooders:
            flooder.send(7 * (b"AeSU\1" + bytes([ANSWER, 0, 0])))
        receiver.receive(source=host)

    assert arrived(receiver, *(stranger() for _ in range(200)), source=host) == 200


def test_a_local_address_is_not_that_of_another_network():
    receiver = Receiver(socket.AF_INET6, host="::")
    noted, other = b"\xfe\x80" + bytes(13) + b"\2", bytes.fromhex("fd00000000000001") + bytes(7) + b"\2"
    hosts = []
    for address in (noted, other):
        made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        made.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
        made.bind((socket.inet_ntop(socket.AF_INET6, address), 0, 0, socket.if_nametoindex("lo")))
        made.connect(("::1", receiver.socket.getsockname()[1]))
        hosts.append(made)
    receiver.start_flood(hosts[0])

    assert arrived(receiver, *(stranger() for _ in range(FLOOD)), source=hosts[0]) < FLOOD // 8
    assert arrived(receiver, *(stranger() for _ in range(50)), source=hosts[1]) == 50


def test_a_run_that_begins_with_a_greeting_does_not_count_as_many_frames():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 21)]
    host = receiver.host()
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    waste = [stranger(ANSWER), *(stranger() for _ in range(6))]
    for flooder in flooders:
        flooder.setsockopt(SOL_UDP, UDP_SEGMENT, len(waste[0]))
    for _ in range(60):
        for flooder in flooders:
            flooder.send(b"".join(waste))
        receiver.receive(source=host)

    assert arrived(receiver, *(stranger() for _ in range(200)), source=host) == 200


def test_a_great_flood_of_one_source_drops_nothing_of_another():
    receiver = Receiver()
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    for _ in range(5):
        receiver.passed(*(stranger() for _ in range(5000)), source=flooder)

    assert arrived(receiver, *(stranger() for _ in range(200)), source=host) == 200


def test_a_flood_of_sources_in_turn_is_dropped():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 19)]

    passed = [
        receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooders[step % len(flooders)])
        for step in range(60)
    ]

    assert max(passed[-18:]) < FLOOD // 2


def test_a_socket_is_not_addressed_by_zeros():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    host = receiver.host()

    receiver.receive(greeting(to=bytes(16)), source=host)

    assert not select.select([host], [], [], 0.1)[0]


@pytest.mark.parametrize("address", ["127.0.0.2", "127.0.0.3"])
def test_few_datagrams_of_a_stranger_do_not_keep_the_filter(address):
    receiver = Receiver()
    flooder, other = receiver.host("127.0.0.2"), receiver.host(address)
    receiver.start_flood(flooder)

    for _ in range(150):
        receiver.receive(stranger(), stranger(), source=other)

    assert receiver.passed(*(stranger() for _ in range(50)), source=flooder) == 50


def test_a_flood_keeps_the_filter():
    receiver = Receiver()
    flooder = receiver.host("127.0.0.2")

    passed = [receiver.passed(*(stranger() for _ in range(80)), source=flooder) for _ in range(300)]

    assert sum(passed[10:]) < 290 * 80 // 16


def test_a_filter_that_the_conductor_has_removed_is_attached_again():
    receiver = Receiver()
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    run = [stranger() for _ in range(60)]
    flooder.setsockopt(SOL_UDP, UDP_SEGMENT, len(run[0]))
    for _ in range(30):
        for _ in range(200):
            flooder.send(b"".join(run))
            receiver._take()
        receiver.receive(source=host)
    receiver.clock.advance(1 * S)
    receiver.session.end_filters(receiver.clock.nano_time())
    assert arrived(receiver, *(stranger() for _ in range(50)), source=host) == 50

    # The average of the flood is not small yet.
    receiver.receive(source=host)

    assert arrived(receiver, b"".join(run), source=flooder) < len(run) // 2


def test_the_filter_is_removed_if_the_agent_does_not_receive():
    receiver = Receiver()
    flooder = receiver.host()
    receiver.start_flood(flooder)

    # With many endpoints, an agent looks only at those with datagrams.
    receiver.clock.advance(1 * S)
    receiver.session.end_filters(receiver.clock.nano_time())

    flooder.send(stranger())
    assert select.select([receiver.socket], [], [], 1)[0]
    assert receiver.passed(*(stranger() for _ in range(49)), source=flooder) == 50


def test_a_peer_whose_source_a_stranger_forges_is_received_though_the_kernel_merges_their_datagrams():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host = receiver.host()
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    # The loopback interface keeps a run merged, as a card does with datagrams of one source.
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)

    def run():
        return b"".join([*(stranger()[:length] for _ in range(9)), peer.seal(b"data")])

    for _ in range(3):
        receiver.receive(*(run() for _ in range(40)), source=host)
    found = receiver.receive(*(run() for _ in range(40)), source=host)

    assert found == [b"data"] * 40
    # After ten seconds without such runs the next flood is dropped again.
    receiver.clock.advance(10 * S)
    flooder = receiver.host("127.0.0.2")
    receiver.start_flood(flooder)
    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8


def test_a_peer_whose_datagrams_the_kernel_merges_behind_those_of_a_stranger_is_received():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host = receiver.host()
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)
    waste = b"".join(stranger()[:length] for _ in range(9))

    # The peer sends little: in most runs there is only what the stranger sends with its source.
    for _ in range(3):
        receiver.receive(*[waste] * 100, source=host)
    found = []
    for _ in range(50):
        receiver.receive(*[waste] * 100, source=host)
        found += receiver.receive(waste + peer.seal(b"data"), source=host)

    assert len(found) > 45


def test_what_is_counted_while_datagrams_are_merged_is_forgotten():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host, flooder = receiver.host("127.0.0.5"), receiver.host("127.0.0.9")
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)
    for _ in range(5):
        waste = b"".join(stranger(kind)[:length] for kind in (FRAMES, ANSWER) for _ in range(4))
        receiver.receive(*(waste + peer.seal(b"data") for _ in range(40)), source=host)
    receiver.clock.advance(10 * S)

    receiver.start_flood(flooder)

    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    host.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
    assert receiver.passed(*(stranger() for _ in range(50)), source=host) == 50


def test_a_flood_by_one_protocol_is_not_one_by_the_other():
    receiver = Receiver(socket.AF_INET6, host="::")
    port = receiver.socket.getsockname()[1]
    flooder, host = (socket.socket(family, socket.SOCK_DGRAM) for family in LOOPBACK)
    flooder.bind(("127.0.0.2", 0))
    flooder.connect(("127.0.0.1", port))
    # Its network ends with the bytes of the other address.
    host.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
    host.bind(("fd00:0:7f00:2::1", 0))
    host.connect(("::1", port))
    receiver.start_flood(flooder)

    assert receiver.passed(*(stranger() for _ in range(50)), source=host) == 50
