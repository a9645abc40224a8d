"""A listening PAIR socket and a peer that sends anything: bounded memory, and later peers are served.

The first byte of an input: 1 for an abort at the end, 2 for bytes after a valid greeting; the rest selects the length
of pieces.
"""

from __future__ import annotations

import struct

from pairing import ADDRESS, Pairing, greeting, message

from aeron_core.testing.pair import MS
from targets._simulations import Shared

MEMORY = 1 << 20
KEYS = f"|poly=true|max-connections=4|max-memory={MEMORY}|max-message=64k|handshake-timeout=1s|message-timeout=1s"
STEPS = (1 << 16, 1000, 20, 3)
SHAKEN = 2
SHARED = Shared(lambda folder: Pairing(folder, keys=KEYS))


def seeds() -> list[bytes]:
    return [
        b"\0" + greeting() + message(b"one") + message(b""),
        b"\2" + message(b"two", 8) + message(bytes(300)) + struct.pack(">Q", 1 << 16),
        b"\3" + message(b"three") * 5,
        bytes([SHAKEN | 12]) + message(b"four") + message(b"hops", 9) + struct.pack(">Q", 3) + b"???",
    ]


def check(data: bytes) -> bool:
    mode, content = (data[0] if data else 0), data[1:]
    if mode & SHAKEN:
        content = greeting() + content
    with SHARED.use() as pair:
        peer = pair.connections.dial(ADDRESS)
        pair.run(1 * MS)
        step = STEPS[mode >> 2 & 3]
        try:
            while content:
                content = content[peer.send(content[:step]) :]
                pair.run(1 * MS)
                assert SHARED.counted("sp-memory:") <= MEMORY
        except OSError:
            # Disconnected by the driver.
            pass
        pair.run(5 * MS)
        is_refused = peer.is_closed_by_peer
        peer.close(aborts=bool(mode & 1))
        pair.until(lambda: not SHARED.counted("sp-memory:") and not SHARED.counted("sp-peers:"))
        pair.received.clear()
        assert_serves(pair)
        return not is_refused


def assert_serves(pair: Pairing) -> None:
    peer = pair.connections.dial(ADDRESS)
    peer.send(greeting() + message(b"behaves"))
    pair.until(lambda: pair.received)
    assert pair.bodies() == [b"behaves"]
    pair.until(lambda: pair.publication.offer(b"answer") > 0)
    answer = greeting() + message(b"answer")
    assert pair.read_exactly(peer, len(answer)) == answer
    peer.close()
    pair.until(lambda: not SHARED.counted("sp-peers:"))
    pair.received.clear()
