"""Sealed datagrams: only what a holder of the secret sealed is opened, once, whatever else arrives.

An input is datagrams: milliseconds before each, in the operation, a mode, and bytes. Modes: 0 the bytes as they are,
1 the bytes sealed, 2 a sealed datagram that the bytes change, 3 the answer to the last challenge, 4 the last sealed
datagram again, 5 the next salt, 6 a challenge with the bytes.
"""

from __future__ import annotations

from aeron_security._native.sealing import REASONS, SealedDatagrams, SealingSession
from secure_udp import ANSWER, CHALLENGE, Peer, open_sealed

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe
from targets._script import Script, block

SECRET = bytes(range(32))
THERE = SocketAddress.of("127.0.0.1", 2)
MAX_DATAGRAMS = 24
RAW, SEAL, CHANGE, PROVE, REPEAT, ROTATE, ASK = range(7)


class Wire:
    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, SocketAddress]] = []
        self.sent: list[bytes] = []

    def receive(self, limit: int) -> list[tuple[bytes, SocketAddress]]:
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram: bytes, _destination: SocketAddress) -> None:
        self.sent.append(bytes(datagram))


def step(mode: int, content: bytes = b"", pause: int = 0) -> bytes:
    return block(bytes([mode]) + content, pause)


def seeds() -> list[bytes]:
    admitted = step(SEAL, b"first") + step(PROVE)
    return [
        admitted + step(SEAL, b"frames" * 10),
        admitted + step(SEAL, b"one") + step(REPEAT) + step(CHANGE, b"\1") + step(SEAL, b"two"),
        admitted + step(ROTATE) + step(SEAL, b"rotated", 10) + step(RAW, b"AeSU\1" + bytes(80)),
        admitted + step(ASK, bytes(32)) + step(ASK, b"short") + step(SEAL, b"three", 255),
    ]


def changed(datagram: bytes, by: bytes) -> bytes:
    """Return a datagram with `by` added to its bytes, from its end on, as often as it has bytes."""
    made = bytearray(datagram)
    for index, value in enumerate(by):
        made[-1 - index % len(made)] ^= value
    return bytes(made)


def datagram_of(mode: int, content: bytes, peer: Peer, wire: Wire, last: bytes) -> bytes:
    if mode == RAW or (mode == CHANGE and not last):
        return content
    if mode in (CHANGE, REPEAT):
        return changed(last, content) if mode == CHANGE else last
    if mode == PROVE:
        for sent in reversed(wire.sent):
            opened = open_sealed(SECRET, 1, sent)
            if opened.kind == CHALLENGE:
                return peer.seal(opened.content[16:], ANSWER)
        return peer.seal(content, ANSWER)
    if mode == ROTATE:
        peer.rotate()
    return peer.seal(content, CHALLENGE if mode == ASK else 0)


def check(data: bytes) -> bool:
    clock, wire = Clock.manual(), Wire()
    session = SealingSession([SECRET], 1, 0, 1, clock)
    probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(wire), session))
    peer, last, is_opened = Peer(SECRET, 1, 1, bytes(range(16))), b"", False
    unused: list[bytes] = []
    for pause, block_ in Script(data).blocks(MAX_DATAGRAMS):
        clock.advance(pause * 1_000_000)
        mode, content = (block_[0] % 7, block_[1:]) if block_ else (RAW, b"")
        datagram = datagram_of(mode, content, peer, wire, last)
        if mode in (SEAL, ROTATE):
            last = datagram
            unused.append(content)
        wire.waiting.append((datagram, THERE))
        opened = [each for slot in probe.receive() for each in slot.datagrams]
        for each in opened:
            # Sealed by the peer, and not opened before.
            unused.remove(each)
            is_opened = True
    counts = session.counts()
    assert counts["opened"] + sum(counts[reason] for reason in REASONS) <= MAX_DATAGRAMS
    assert len(wire.sent) <= 2 * MAX_DATAGRAMS
    return is_opened
