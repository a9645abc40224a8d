"""The socket of a sealed subscription, and what strangers send to it."""

import os
import select
import socket

from aeron_security._native.sealing import SealedDatagrams, SealingSession
from secure_udp import FRAMES, expand, prk_of

from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import UdpSocket
from aeron_core.testing import DatagramProbe

SECRET = bytes(range(32))
MS, S = 1_000_000, 1_000_000_000
#: Datagrams in 10 ms, of strangers: a flood begins with 32 on the average.
FLOOD = 300
LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
PUBLICATION, SUBSCRIPTION = 0, 1


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
            found += self.take()
        self.clock.advance(10 * MS)
        return found + self.take()

    def take(self):
        """Receive all that has arrived; return the contents that are opened."""
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
