"""The kernel's filter drops what the sources of a flood send, and nothing of others."""

import socket

import pytest
from flooded_socket import FLOOD, LOOPBACK, MS, PUBLICATION, SECRET, Receiver, arrived, stranger
from secure_udp import ANSWER, FRAMES, Peer

from aeron_core.spi.udp_offload import SOL_UDP, UDP_SEGMENT

_IPV6_FREEBIND = 78  # source: linux/in6.h


def test_another_source_reaches_a_socket_that_one_floods():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host("127.0.0.3")
    receiver.start_flood(flooder)

    receiver.admit(peer, host)

    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
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
            receiver.take()
        receiver.receive(source=host)
        passed.append(sum(receiver.refused().values()) - before)

    assert passed[0] == 500
    assert passed[-1] < 300
    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


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
            receiver.take()
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
            receiver.take()
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
