"""Batches for several destinations are sealed once, and several sockets of one endpoint receive the same datagrams."""

from __future__ import annotations

import os
import socket

import pytest
from aeron_media.udp.transport import UdpTransport
from aeron_security._native.sealing import OVERHEAD, RENEW, SealedDatagrams, SealingSession
from identities import public, salt_of
from secure_udp import CHALLENGE, Peer, aead_of, open_sealed
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel, UdpSocket
from aeron_core.spi.media import SendEndpointParams
from aeron_core.testing import (
    DatagramProbe,
    RecordingSendStream,
    RunBatch,
    SendEndpointProbe,
    make_counters,
)
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

SECRET = bytes(range(32))
PUBLICATION, SUBSCRIPTION = 0, 1
ADDRESSES = [SocketAddress.of("127.0.0.1", 1000 + number) for number in range(3)]
COUNTERS = (
    "bytes_sent",
    "bytes_received",
    "invalid_packets",
    "short_sends",
    "status_messages_received",
    "naks_received",
    "error_frames_received",
    "destinations",
)


class DestinationsWire(Wire):
    """A wire to several destinations."""

    def take(self):
        """Return what was sent, by destination, and forget it."""
        found = [[data for data, to in self.sent if to == address] for address in ADDRESSES]
        self.sent.clear()
        return found


class Endpoint:
    """A sealed endpoint with several destinations over `channel`."""

    def __init__(self, channel, **options):
        self.session = SealingSession([SECRET], 1, PUBLICATION, SUBSCRIPTION, Clock.manual(), **options)
        self.counters = make_counters(*COUNTERS)
        transport = UdpTransport()
        uri = ChannelUri.parse("aeron:udp?control-mode=manual")
        params = SendEndpointParams(
            transport.resolve_channel(
                uri, lambda text, _: SocketAddress.of(*parse_address(text)), is_publication=True
            ),
            channel_status_id=0,
            counters=self.counters,
            sndbuf_length=0,
            rcvbuf_length=0,
            uses_gso=False,
            uses_gro=False,
            destination_count=self.counters["destinations"],
            open_datagrams=lambda _: channel,
            protect=lambda datagrams, _: SealedDatagrams(datagrams, self.session),
        )
        self.probe = SendEndpointProbe(transport.open_send_endpoint(params))
        self.stream = RecordingSendStream(7, 1001)
        for number, address in enumerate(ADDRESSES):
            self.probe.endpoint.add_destination(address, number + 1)
            self.probe.poll()

    def send(self, *runs):
        return self.probe.send_batch(self.stream, RunBatch(list(runs)))


def numbers_of(datagrams):
    return [open_sealed(SECRET, 1, datagram).number for datagram in datagrams]


def contents_of(datagrams):
    return [open_sealed(SECRET, 1, datagram).content for datagram in datagrams]


@pytest.fixture
def wire():
    return DestinationsWire()


@pytest.fixture
def endpoint(wire):
    return Endpoint(PythonDatagramChannel(wire))


def test_all_destinations_get_the_same_sealed_datagrams(wire, endpoint):
    frames = [os.urandom(96) for _ in range(3)]

    endpoint.send((b"".join(frames), 96), (b"x" * 64, 64))

    first, *others = wire.take()
    assert contents_of(first) == [*frames, b"x" * 64]
    assert others == [first, first]
    assert endpoint.session.counts()["sealed"] == 4
    assert endpoint.counters["bytes_sent"].get() == 3 * (3 * 96 + 64)


def test_each_batch_is_sealed_anew_though_it_is_in_the_same_memory(wire, endpoint):
    batch = RunBatch([(b"a" * 64, 64)])
    for _ in range(3):
        endpoint.probe.send_batch(endpoint.stream, batch)

    first, *others = wire.take()
    assert numbers_of(first) == [1, 2, 3]
    assert len(set(first)) == 3
    assert others == [first, first]


def test_an_answer_between_batches_leaves_them_as_they_are(wire, endpoint):
    peer = Peer(SECRET, 1, SUBSCRIPTION)
    endpoint.send((b"before", 6))
    wire.waiting.append((peer.seal(endpoint.session.salt + bytes(16), CHALLENGE), ADDRESSES[0]))
    endpoint.probe.poll()
    endpoint.send((b"behind", 6))

    # The answer, and a challenge of the peer, went to the first destination only.
    first, *others = wire.take()
    assert numbers_of(first) == [1, 2, 3, 4]
    assert [contents_of(each) for each in others] == [[b"before", b"behind"]] * 2
    assert [numbers_of(each) for each in others] == [[1, 4], [1, 4]]


def test_a_batch_that_is_longer_than_the_memory_for_sealed_datagrams_is_sealed_for_each_destination(
    wire, endpoint
):
    runs = [(os.urandom(64 * 1000), 1000) for _ in range(8)]

    endpoint.send(*runs)

    sent = wire.take()
    expected = [data[at : at + 1000] for data, _ in runs for at in range(0, len(data), 1000)]
    assert [contents_of(each) for each in sent] == [expected] * 3
    assert len({number for each in sent for number in numbers_of(each)}) == 3 * len(expected)


def test_what_no_destination_accepted_is_sealed_again_with_other_numbers():
    # A socket with a short buffer that is not read: it accepts a part of the batch once, and nothing afterwards.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        ours.setblocking(False)
        theirs.setblocking(False)
        endpoint = Endpoint(UdpSocket(ours, is_connected=True))
        frames = [os.urandom(1000) for _ in range(40)]
        found, waiting = [], list(frames)
        while waiting:
            before = endpoint.session.counts()["sealed"]
            taken = endpoint.send((b"".join(waiting), 1000))
            accepted = taken.length // 1000
            received = []
            while True:
                try:
                    received.append(theirs.recv(2000))
                except BlockingIOError:
                    break
            # The first piece, once for all destinations: what is behind it is not sealed before that was sent.
            assert endpoint.session.counts()["sealed"] - before == min(len(waiting), 31)
            assert contents_of(received)[:accepted] == waiting[:accepted]
            assert 0 < accepted < len(frames)
            found += numbers_of(received)
            waiting = waiting[accepted:]

    assert len(found) == len(set(found))


class OrderingWire(DestinationsWire):
    """Gives an order of the conductor after the first datagram to the destination that is sent to as the `after`th."""

    def __init__(self, after, order):
        super().__init__()
        self._after, self._order = after, order
        self.destinations = []

    def send(self, datagram, destination):
        super().send(datagram, destination)
        if destination not in self.destinations:
            self.destinations.append(destination)
            if len(self.destinations) == self._after + 1:
                self._order()

    def take(self):
        """Return what was sent, by destination in the order of the first batch."""
        found = super().take()
        return [found[ADDRESSES.index(destination)] for destination in self.destinations]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_batch_is_sealed_again_for_the_destinations_behind_a_removal(after):
    identity, new = public(bytes([1]) * 32), bytes([9]) * 32
    wire = OrderingWire(after, lambda: endpoint.session.order(RENEW, 0, identity, new, 0))
    endpoint = Endpoint(PythonDatagramChannel(wire), public_key=identity)
    secrets = {salt_of(prk, PUBLICATION, identity): prk for prk in (SECRET, new)}
    old_salt, new_salt = secrets

    frames = [os.urandom(96) for _ in range(3)]
    endpoint.send((b"".join(frames), 96))
    endpoint.send((b"next", 4))

    def opened(datagram):
        salt = datagram[8:24]
        aead = aead_of(secrets[salt], 1, PUBLICATION, salt, datagram[32:40])
        return aead.decrypt(datagram[24:32] + bytes(4), datagram[40:], datagram[:40])

    sent = wire.take()
    assert [[opened(datagram) for datagram in each] for each in sent] == [[*frames, b"next"]] * 3
    salts = [[datagram[8:24] for datagram in each] for each in sent]
    # No batch mixes keys, and none that is sent after the order has the old one.
    assert salts == [[old_salt] * 3 + [new_salt]] * (after + 1) + [[new_salt] * 4] * (2 - after)
    # A number is in two datagrams only if they are the same.
    by_nonce = {}
    for datagram in [each for to in sent for each in to]:
        assert by_nonce.setdefault(datagram[8:32], datagram) == datagram


def test_a_batch_of_which_a_removal_changes_the_key_in_between_is_whole_for_each_destination():
    # A batch that is longer than the memory for sealed datagrams is sealed for each destination in rounds.
    identity, new = public(bytes([1]) * 32), bytes([9]) * 32
    wire = OrderingWire(0, lambda: endpoint.session.order(RENEW, 0, identity, new, 0))
    endpoint = Endpoint(PythonDatagramChannel(wire), public_key=identity)

    endpoint.send(*[(os.urandom(64 * 1000), 1000) for _ in range(8)])

    assert [len({datagram[8:24] for datagram in each}) for each in wire.take()] == [1, 1, 1]


def test_each_socket_of_an_endpoint_receives_a_datagram_once():
    session = SealingSession([SECRET], 1, SUBSCRIPTION, PUBLICATION, Clock.manual())
    wires = [Wire(), Wire()]
    probes = [DatagramProbe(SealedDatagrams(PythonDatagramChannel(wire), session)) for wire in wires]
    peer = Peer(SECRET, 1, PUBLICATION)

    def receive(index, *datagrams):
        wires[index].waiting += [(datagram, ADDRESSES[0]) for datagram in datagrams]
        return [content for slot in probes[index].receive() for content in slot.datagrams if content]

    for index, wire in enumerate(wires):
        assert receive(index, peer.seal(b"first")) == []
        assert receive(index, peer.answer(wire.sent.pop()[0])) == []
    same = peer.seal(b"for both")

    assert [receive(0, same), receive(1, same)] == [[b"for both"]] * 2
    assert [receive(0, same), receive(1, same)] == [[], []]
    assert session.counts()["replayed"] == 2
    assert len(same) == len(b"for both") + OVERHEAD
