"""Handshakes of identities: only an allowed peer is admitted, with what it granted, whatever else arrives.

An input is datagrams: in the operation a mode, and bytes. Modes: 0 the bytes as they are, 1 the bytes with the header
of a handshake of the peer, 2 the next datagram of the peer's handshake, 3 the same changed by the bytes, 4 the last
one again, 5 the next datagram of a stranger's handshake, 6 the bytes sealed by the peer.
"""

from __future__ import annotations

from aeron_security._native.sealing import ADMIT, SealedDatagrams, SealingSession
from aeron_security.handshakes import Grant, HandshakeRefusedError, Handshakes, Host
from aeron_security.identity_files import AllowedPeer
from identities import IdentityPeer, public

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe
from targets._script import Script, block

OURS, THEIRS, STRANGE = (bytes([number]) * 32 for number in (1, 2, 4))
THERE = SocketAddress.of("127.0.0.1", 2)
MAX_DATAGRAMS = 24
RAW, HEADED, NEXT, CHANGED, AGAIN, STRANGER, SEALED = range(7)


class Wire:
    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, SocketAddress]] = []
        self.sent: list[bytes] = []

    def receive(self, limit: int) -> list[tuple[bytes, SocketAddress]]:
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram: bytes, _destination: SocketAddress) -> None:
        self.sent.append(bytes(datagram))


class Driver:
    """A subscription with an identity that allows one peer."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.admitted: list[tuple[bytes, bytes, int]] = []
        self.session = SealingSession([bytes(32)], 1, 1, 0, Clock.manual(), public_key=public(OURS))
        self._probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(self.wire), self.session))
        self._handshakes = Handshakes(
            Host(OURS, public(OURS), 1, 1, self._grant, self._admit, lambda: bytes(8))
        )
        self._handshakes.set_peers({public(THEIRS): AllowedPeer("peer", public(THEIRS))})

    def _grant(self) -> Grant:
        found = self.session.grant()
        assert found is not None
        return Grant(*found[:2])

    def _admit(self, peer: AllowedPeer, grant: Grant, began_ns: int) -> None:
        self.admitted.append((peer.public_key, grant.secret, grant.number))
        assert self.session.order(ADMIT, 1, peer.public_key, *grant, began_ns)

    def take(self, datagram: bytes) -> tuple[list[bytes], list[bytes]]:
        """Receive a datagram; return what the agent passes on, and what is sent because of it."""
        self.wire.waiting.append((datagram, THERE))
        opened = [each for slot in self._probe.receive() for each in slot.datagrams]
        sent, self.wire.sent = self.wire.sent, []
        while (found := self.session.take_handshake()) is not None:
            try:
                answer = self._handshakes.on_datagram(found[0], "127.0.0.1", 0)
            except HandshakeRefusedError:
                continue
            if answer is not None:
                sent.append(answer)
        return opened, sent


class Peer:
    """A peer that begins a handshake: `step` returns its next datagram."""

    def __init__(self, private: bytes, salt: bytes) -> None:
        self.socket = IdentityPeer(private, 0, 1, [public(OURS)], prk=private)
        self._salt = salt
        self._answer = b""

    def keep(self, sent: list[bytes]) -> None:
        for each in sent:
            if each[24:40] == self.socket.salt:
                self._answer = each

    def step(self) -> bytes:
        heard, self._answer = self._answer, b""
        try:
            answer: bytes | None = self.socket.on_datagram(heard) if heard else None
        except (AssertionError, KeyError):
            # An answer to what was changed.
            answer = None
        return answer or self.socket.hello(self._salt)


def step(mode: int, content: bytes = b"") -> bytes:
    return block(content, mode)


def seeds() -> list[bytes]:
    whole = step(NEXT) * 3
    return [
        whole + step(SEALED, b"frames" * 9),
        step(STRANGER) * 3 + step(NEXT) + step(CHANGED, b"\1") + step(NEXT) * 3,
        step(RAW, b"AeSU\1" + bytes(83)) + step(HEADED, b"\4" + bytes(48)) + whole + step(AGAIN) * 2,
    ]


def changed(datagram: bytes, by: bytes) -> bytes:
    """Return a datagram with `by` added to its bytes, from its end on, as often as it has bytes."""
    made = bytearray(datagram)
    for index, value in enumerate(by):
        made[-1 - index % len(made)] ^= value
    return bytes(made)


def check(data: bytes) -> bool:
    driver = Driver()
    salt = IdentityPeer(OURS, 1, 1, [], prk=bytes(32)).salt
    peer, stranger, last, unused = Peer(THEIRS, salt), Peer(STRANGE, salt), b"", list[bytes]()
    for mode, content in Script(data).blocks(MAX_DATAGRAMS):
        datagram = content
        if mode == HEADED and content:
            datagram = peer.socket.header(content[0], salt) + content[1:]
        elif mode in (NEXT, CHANGED):
            datagram = last = peer.step()
            if mode == CHANGED:
                datagram = changed(last, content)
        elif mode == AGAIN:
            datagram = last
        elif mode == STRANGER:
            datagram = stranger.step()
        elif mode == SEALED:
            datagram = peer.socket.seal(content)
            unused.append(content)
        opened, sent = driver.take(datagram)
        for each in opened:
            # Sealed by the peer, and not opened before.
            unused.remove(each)
        # The peer that gets a first has returned a token.
        assert sum(map(len, sent)) <= (168 if datagram[5:6] == b"\4" else len(datagram))
        peer.keep(sent)
        stranger.keep(sent)
    for key, secret, number in driver.admitted:
        assert (key, secret) == (public(THEIRS), peer.socket.prk)
        assert number <= peer.socket.number
    assert not stranger.socket.granted
    return bool(driver.admitted)
