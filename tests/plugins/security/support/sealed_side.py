"""A sealed channel over a wire that the test reads and writes."""

from aeron_security._native.sealing import REASONS, SealedDatagrams, SealingSession
from secure_udp import Peer
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

HERE, THERE = SocketAddress.of("127.0.0.1", 1), SocketAddress.of("127.0.0.1", 2)
SECRET, OTHER = bytes(range(32)), bytes(32)
PUBLICATION, SUBSCRIPTION = 0, 1


class Side:
    """A sealed channel over a `Wire`."""

    def __init__(
        self, cipher=1, role=PUBLICATION, secrets=(SECRET,), clock=None, reply_address=None, **options
    ):
        self.clock = clock or Clock.manual()
        self.wire = Wire()
        self.session = SealingSession(list(secrets), cipher, role, 1 - role, self.clock, **options)
        self.probe = DatagramProbe(
            SealedDatagrams(PythonDatagramChannel(self.wire), self.session, reply_address)
        )

    def send(self, *runs):
        return self.probe.send(list(runs), THERE)

    def receive(self, *datagrams, source=THERE):
        """Receive datagrams from the wire; return the contents that the channel gives."""
        self.wire.waiting += [(datagram, source) for datagram in datagrams]
        found = []
        while self.wire.waiting:
            slots = self.probe.receive()
            assert all(slot.datagrams != [b""] for slot in slots)
            found += [content for slot in slots for content in slot.datagrams if content]
        return found

    @property
    def refused(self):
        return {name: count for name, count in self.session.counts().items() if name in REASONS and count}

    def admit(self, peer):
        """Let a peer prove itself."""
        assert self.receive(peer.seal(b"first")) == []
        (challenge, _) = self.wire.sent.pop()
        assert self.receive(peer.answer(challenge)) == []


def admitted(cipher=1, **options):
    side, peer = Side(cipher, **options), Peer(SECRET, cipher, SUBSCRIPTION)
    side.admit(peer)
    return side, peer
