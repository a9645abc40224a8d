"""PAIR sockets and several peers that send anything: bounded memory, whole messages in order, later peers are served.

An input begins with a byte, which selects one of KINDS. Blocks follow, their operation the number of a peer, PEERS in
all, and flags: RAW for bytes in place of a greeting, if they are the first, ENDS and ABORTS for an end afterwards, the
rest selects the length of pieces. A socket that connects has one peer after the other.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pairing import ADDRESS, DIALING, LISTENING, PAIR0, PAIR1, Pairing, greeting

from aeron_core._native.address import SocketAddress
from aeron_core.testing.connections import ConnectionPeer
from aeron_core.testing.pair import MS
from targets._script import Script, block
from targets._simulations import Shared

MEMORY = 1 << 20
MAX_MESSAGE = 1 << 16
MAX_CONNECTIONS = 3
LIMITS = f"|max-memory={MEMORY}|max-message=64k|handshake-timeout=1s|message-timeout=1s"
POLY = f"|poly=true|max-connections={MAX_CONNECTIONS}"
PATH = "/run/pair"
PEERS, RAW, ENDS, ABORTS = 4, 4, 8, 16
STEPS = (1 << 16, 1000, 20, 3)
MAX_BLOCKS = 12


@dataclass(frozen=True)
class Kind:
    """A socket of the driver; `ttl` and `least_hops` limit the hop counts that it accepts."""

    channel: str
    keys: str
    address: SocketAddress = ADDRESS
    protocol: int = PAIR1
    has_type: bool = False
    ttl: int = 8
    least_hops: int = 1

    def message(self, body: bytes, hops: int = 1) -> bytes:
        payload = body if self.protocol == PAIR0 else struct.pack(">I", hops) + body
        return b"\1" * self.has_type + struct.pack(">Q", len(payload)) + payload

    def bodies(self, data: bytes) -> list[bytes]:
        """Return the bodies of the messages that follow a greeting, up to one that is refused."""
        found, at = [], 0
        prefix = 9 if self.has_type else 8
        hops_length = 0 if self.protocol == PAIR0 else 4
        while len(data) - at >= prefix and (not self.has_type or data[at] == 1):
            (length,) = struct.unpack_from(">Q", data, at + prefix - 8)
            begin, at = at + prefix, at + prefix + length
            if at > len(data) or length > MAX_MESSAGE + hops_length:
                break
            hops = int.from_bytes(data[begin : begin + hops_length], "big") if length >= hops_length else -1
            if not hops_length or self.least_hops <= hops <= self.ttl:
                found.append(data[begin + hops_length : at])
        return found


KINDS = (
    Kind(LISTENING, POLY),
    Kind(
        f"aeron:sp?transport=ipc|path={PATH}|mode=listen",
        POLY,
        SocketAddress.unix(PATH.encode()),
        has_type=True,
    ),
    Kind(LISTENING, "|ttl=3|accept-zero-hop=true", ttl=3, least_hops=0),
    Kind(DIALING, "|backoff-init=10ms|backoff-max=20ms"),
    Kind(LISTENING, "|protocol=pair0", protocol=PAIR0),
)


def _started(kind: Kind, folder: Path) -> Pairing:
    return Pairing(folder, kind.channel, kind.keys + LIMITS)


SHARED = [Shared(partial(_started, kind)) for kind in KINDS]


def seeds() -> list[bytes]:
    several = b"".join(block(KINDS[0].message(b"of %d" % number) * 3, number) for number in range(3))
    return [
        b"\0"
        + several
        + block(KINDS[0].message(b"") + struct.pack(">Q", 1 << 15), 1)
        + block(b"more", 1 | ENDS),
        b"\0" + block(greeting() + KINDS[0].message(b"whole", 8) + KINDS[0].message(b"hops", 9), RAW | 96),
        b"\1"
        + block(KINDS[1].message(b"local") + KINDS[1].message(bytes(300))[:200], 32)
        + block(bytes(109), 0),
        b"\2" + block(KINDS[2].message(b"zero", 0) + KINDS[2].message(b"four", 4), 64) + block(b"", ABORTS),
        b"\3" + block(KINDS[3].message(b"dialed"), ENDS) + block(KINDS[3].message(b"again") * 4, 96),
        b"\4" + block(KINDS[4].message(b"old") + KINDS[4].message(b""), 64),
    ]


@dataclass
class Peer:
    """One connection, and what was sent on it."""

    connection: ConnectionPeer
    sent: bytearray = field(default_factory=bytearray)
    is_open: bool = True

    def messages_sent(self, kind: Kind) -> bytes:
        begin = greeting(kind.protocol)
        return bytes(self.sent[len(begin) :]) if self.sent.startswith(begin) else b""


class Session:
    """The peers of one input."""

    def __init__(self, kind: Kind, shared: Shared[Pairing], pair: Pairing) -> None:
        self._kind, self._shared, self._pair = kind, shared, pair
        self._peers: dict[int, Peer] = {}
        self._former: list[Peer] = []
        self.is_refused = False

    def play(self, operation: int, content: bytes) -> None:
        number = operation % PEERS if self._pair.listener is None else 0
        peer = self._peers.get(number)
        if peer is None:
            peer = self._peers[number] = Peer(self._connected())
            if not operation & RAW:
                content = greeting(self._kind.protocol) + content
        self._send(peer, content, STEPS[operation >> 5 & 3])
        if operation & (ENDS | ABORTS) or not peer.is_open:
            self._end(number, aborts=bool(operation & ABORTS))

    def end_all(self) -> None:
        for number in list(self._peers):
            self._end(number, aborts=False)

    def check_received(self) -> None:
        """Assert that each session has the messages of one peer: all up to some, in order."""
        by_session = defaultdict(list)
        for each in self._pair.received:
            by_session[each.session_id].append(each.body)
        expected = [self._kind.bodies(peer.messages_sent(self._kind)) for peer in self._former]
        for bodies in by_session.values():
            assert any(bodies == each[: len(bodies)] for each in expected), bodies

    def _connected(self) -> ConnectionPeer:
        if self._pair.listener is None:
            return self._pair.connections.dial(self._kind.address)
        return self._pair.accept()

    def _send(self, peer: Peer, content: bytes, step: int) -> None:
        try:
            while content and peer.is_open:
                count = peer.connection.send(content[:step])
                peer.sent += content[:count]
                content = content[count:]
                self._pair.run(1 * MS)
                assert self._shared.counted("sp-memory:") <= MEMORY
                assert self._shared.counted("sp-peers:") <= MAX_CONNECTIONS
        except OSError:
            # Disconnected by the driver.
            peer.is_open = False

    def _end(self, number: int, *, aborts: bool) -> None:
        peer = self._peers.pop(number)
        self._pair.run(5 * MS)
        self.is_refused |= peer.connection.is_closed_by_peer
        peer.connection.close(aborts=aborts)
        self._former.append(peer)


def check(data: bytes) -> bool:
    index = (data[0] if data else 0) % len(KINDS)
    kind, shared = KINDS[index], SHARED[index]
    with shared.use() as pair:
        session = Session(kind, shared, pair)
        for operation, content in Script(data[1:]).blocks(MAX_BLOCKS):
            session.play(operation, content)
        session.end_all()
        pair.until(lambda: not shared.counted("sp-memory:") and not shared.counted("sp-peers:"))
        session.check_received()
        pair.received.clear()
        assert_serves(kind, shared, pair)
        return not session.is_refused


def assert_serves(kind: Kind, shared: Shared[Pairing], pair: Pairing) -> None:
    peer = pair.connections.dial(kind.address) if pair.listener is None else pair.accept()
    peer.send(greeting(kind.protocol) + kind.message(b"behaves"))
    pair.until(lambda: pair.received)
    assert pair.bodies() == [b"behaves"]
    pair.until(lambda: pair.publication.offer(b"answer") > 0)
    answer = greeting(kind.protocol) + kind.message(b"answer")
    assert pair.read_exactly(peer, len(answer)) == answer
    peer.close()
    pair.until(lambda: not shared.counted("sp-peers:"))
    pair.received.clear()
