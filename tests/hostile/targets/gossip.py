"""Gossip of driver names: tables stay within their limits, and what is sent can be decoded.

An input is packets: milliseconds before each, in the operation, the last byte of its source, and the packet.
"""

from __future__ import annotations

from aeron_resolvers.gossip import MAX_NAMES, MAX_PACKET_LENGTH, Gossip, GossipParams
from aeron_resolvers.neighbors import MAX_NEIGHBORS
from aeron_resolvers.peer import GossipPeer

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame
from targets._messages import datagrams
from targets._script import Script, block
from targets._texts import check_text

PORT = 8050
MAX_PACKETS = 16


def host(number: int) -> GossipPeer:
    # Source addresses of both families.
    return (
        GossipPeer(bytes([10, 0, 0, number]), PORT) if number < 128 else GossipPeer(bytes(15) + b"\1", PORT)
    )


def packet(*entries: ResolutionEntry) -> bytes:
    buffer = AtomicBuffer.allocate(2048)
    return buffer.get_bytes(0, ResolutionFrame(entries).encode(buffer, 0))


def seeds() -> list[bytes]:
    there = ResolutionEntry("there", host(2).packed, PORT, flags=wire.RES_FLAG_SELF)
    far = ResolutionEntry("far", host(200).packed, PORT, 100)
    captured = [each for each in datagrams() if each[6] == wire.TYPE_RES]
    return [
        block(b"\2" + packet(there), 0) * 2 + block(b"\2" + packet(there, far), 200),
        *(block(b"\1" + each, 10) + block(b"\1" + each, 255) for each in captured),
    ]


def check(data: bytes) -> bool:
    gossip = Gossip(GossipParams(name="here", peer=host(1)), now_ms=0)
    now_ms = 0
    accepted = False
    for pause, content in Script(data).blocks(MAX_PACKETS):
        now_ms += pause * 100
        source = host(content[0] if content else 0)
        try:
            gossip.on_packet(content[1:], source, now_ms)
            accepted = True
        except ProtocolError as error:
            check_text(error)
        while gossip.neighbors.take_prompt() is not None:
            pass
        gossip.remove_silent(now_ms)
        assert gossip.name_count <= MAX_NAMES
        assert len(gossip.neighbors) <= MAX_NEIGHBORS
    check_sent(gossip, now_ms)
    return accepted


def check_sent(gossip: Gossip, now_ms: int) -> None:
    names = gossip.names()
    known = {name for name, _ in names}
    while names:
        sent = gossip.take_packet(names, now_ms)
        frame = ResolutionFrame.decode(AtomicBuffer(sent), 0, len(sent))
        assert len(sent) <= MAX_PACKET_LENGTH or len(frame.entries) == 1
        for entry in frame.entries:
            assert entry.name in known
            assert gossip.find(entry.name)
    # Without packets, nothing outlives its timeout.
    gossip.remove_silent(now_ms + 3_600_000)
    assert (gossip.name_count, len(gossip.neighbors)) == (0, 0)
