"""A switch that attacks what passes it, and loses packets: a host on the path of sealed channels.

    attacker.py DELAY JITTER LOSS REORDER DUPLICATE PORT...  until standard input ends, as `switch.py`

For each datagram that passes, some others are sent to its receiver in the name of its sender, or back: copies with a
flipped bit, cut and joined ones, recorded ones, and frames that would stop a stream. Prints `ready`, and at the end how
many packets of each kind were sent.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "security" / "reference"))
from secure_udp import Peer
from switch import HEADER, MAC, Switch, main, send

from aeron_core._native import wire
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import data_frame, encode_frame

IP = HEADER + 14
MAGIC = b"AeSU"
SESSION, STREAM = 77, 1001
#: Recorded datagrams, and packets sent because of one. Invented: each may cause others, such as handshakes.
RECORDS, AT_ONCE = 4096, 3
ROLES = 3


def frames() -> list[bytes]:
    """Return frames that would stop, misdirect or forge a stream, or a name."""
    ids = {"session_id": SESSION, "stream_id": STREAM}
    liar = ResolutionEntry("liar", socket.inet_aton("10.77.0.9"), 8050, flags=wire.RES_FLAG_SELF)
    return [
        encode_frame(StatusMessage(**ids, receiver_window=0)),
        encode_frame(Nak(**ids, length=60000)),
        encode_frame(Setup(**ids, term_length=65536, mtu=64)),
        encode_frame(Setup(session_id=SESSION + 1, stream_id=STREAM, term_length=65536, mtu=1408)),
        encode_frame(ErrorFrame(**ids, error_code=13)),
        encode_frame(Rttm(**ids, reception_delta=1 << 40)),
        encode_frame(ResolutionFrame((liar,))),
        data_frame(b"forged", **ids),
    ]


class Datagram:
    """An IPv4 datagram in a packet of a switch."""

    def __init__(self, packet: bytes) -> None:
        self.udp = IP + 4 * (packet[IP] & 15)
        self.head, self.data = packet[: self.udp + 8], packet[self.udp + 8 :]

    def with_data(self, data: bytes) -> bytes:
        """Return a packet with other content, between the same sockets."""
        head = bytearray(self.head)
        # No offloaded state: the checksum of UDP is absent, and that of IP is computed here.
        head[:HEADER] = bytes(HEADER)
        struct.pack_into("!H", head, IP + 2, self.udp - IP + 8 + len(data))
        struct.pack_into("!HH", head, self.udp + 4, 8 + len(data), 0)
        struct.pack_into("!H", head, IP + 10, 0)
        total = sum(struct.unpack_from(f"!{(self.udp - IP) // 2}H", head, IP))
        total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into("!H", head, IP + 10, ~(total + (total >> 16)) & 0xFFFF)
        return bytes(head) + data

    def reversed(self) -> bytes:
        """Return the same content in a packet from its receiver to its sender."""
        head = bytearray(self.head)
        to, source = slice(HEADER, HEADER + MAC), slice(HEADER + MAC, HEADER + 2 * MAC)
        head[to], head[source] = head[source], head[to]
        head[IP + 12 : IP + 20] = head[IP + 16 : IP + 20] + head[IP + 12 : IP + 16]
        head[self.udp : self.udp + 4] = head[self.udp + 2 : self.udp + 4] + head[self.udp : self.udp + 2]
        made = Datagram(bytes(head) + self.data)
        return made.with_data(self.data)


def is_sealed(packet: bytes) -> bool:
    is_udp = packet[IP - 2 : IP] == b"\x08\x00" and packet[IP + 9] == socket.IPPROTO_UDP
    return is_udp and Datagram(packet).data.startswith(MAGIC)


class Attacker(Switch):
    """Sends more than what is to be forwarded."""

    def __init__(self, conditions: tuple[float, ...], names: list[str]) -> None:
        super().__init__(conditions, names)
        self._numbers = random.Random(1)
        self._records: list[tuple[socket.socket, bytes]] = []
        self._bit = 0
        self._before = MAGIC
        peers = [Peer(os.urandom(32), 1, role) for role in range(ROLES)]
        self._forgeries = itertools.cycle(
            forged for frame in frames() for forged in (frame, *(peer.seal(frame) for peer in peers))
        )
        self._attacks: Iterator[Callable[[socket.socket, Datagram], tuple[socket.socket, bytes]]]
        self._attacks = itertools.cycle(
            (self.flipped, self.cut, self.replayed, self.forged, self.flipped, self.spliced, self.recorded,
             self.reflected, self.relabelled)
        )  # fmt: skip

    def _forward(self, port: socket.socket, packet: bytes) -> None:
        super()._forward(port, packet)
        if not is_sealed(packet):
            return
        datagram = Datagram(packet)
        for _ in range(AT_ONCE):
            attack = next(self._attacks)
            self.counts[attack.__name__] += 1
            send(*attack(port, datagram))
        self._before = datagram.data
        record = port, datagram.with_data(datagram.data)
        if len(self._records) < RECORDS:
            self._records.append(record)
        else:
            self._records[self._numbers.randrange(RECORDS)] = record

    def flipped(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        # Bits in turn, those of the header three times as often.
        self._bit += 1
        length = len(datagram.data) if self._bit % 4 == 0 else 56
        changed = bytearray(datagram.data)
        bit = self._bit % (8 * length)
        changed[bit // 8] ^= 1 << bit % 8
        return port, datagram.with_data(bytes(changed))

    def cut(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        length = self._numbers.randrange(1, len(datagram.data) + 50)
        return port, datagram.with_data((datagram.data + bytes(50))[:length])

    def replayed(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        return port, datagram.with_data(datagram.data)

    def recorded(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        """Return an old datagram: since then, keys were changed, or a driver was started again."""
        return self._numbers.choice(self._records) if self._records else self.replayed(port, datagram)

    def spliced(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        half = self._numbers.randrange(len(datagram.data))
        pair = (datagram.data, self._before) if self._bit % 2 else (self._before, datagram.data)
        return port, datagram.with_data(pair[0][:half] + pair[1][half:])

    def reflected(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        source = datagram.head[HEADER + MAC : HEADER + 2 * MAC]
        return self._places[source], datagram.reversed()

    def forged(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        return port, datagram.with_data(next(self._forgeries))

    def relabelled(self, port: socket.socket, datagram: Datagram) -> tuple[socket.socket, bytes]:
        """Return a forged datagram with the salt and the identifier of the real one."""
        forged = next(self._forgeries)
        return port, datagram.with_data(datagram.data[:24] + forged[24:])


if __name__ == "__main__":
    main(*sys.argv[1:], kind=Attacker)
