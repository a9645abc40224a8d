"""A switch with impaired links, for kernels without netem.

    switch.py DELAY JITTER LOSS REORDER DUPLICATE PORT...  until standard input ends; milliseconds and percent

Each packet that leaves by a port is delayed by DELAY ± JITTER, uniformly distributed, dropped, duplicated, or
(REORDER) not delayed, as netem on that port would do. Prints `ready`, and at the end the number of affected packets.
"""

from __future__ import annotations

import itertools
import random
import select
import socket
import sys
import time
from collections import Counter
from heapq import heappop, heappush

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_VNET_HDR = (
    15  # keep the offloaded checksum state of packets: both ends of a veth leave the checksum to the other
)
PACKET_IGNORE_OUTGOING = 23
HEADER = 10  # bytes of the header that PACKET_VNET_HDR adds
MAC = 6  # bytes of an address; the destination is first
BUFFER = 8 << 20


class Switch:
    """Forwards each packet to the port of its destination, if known, or to all others."""

    def __init__(self, conditions: tuple[float, ...], names: list[str]) -> None:
        self._delay_s, self._jitter_s = (value / 1000 for value in conditions[:2])
        self._loss, self._reorder, self._duplicate = (value / 100 for value in conditions[2:])
        self._ports = [open_port(name) for name in names]
        self._places: dict[bytes, socket.socket] = {}
        self._late: list[tuple[float, int, socket.socket, bytes]] = []
        self._order = itertools.count()
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        while True:
            wait_s = max(self._late[0][0] - time.monotonic(), 0) if self._late else None
            ready, _, _ = select.select([sys.stdin, *self._ports], [], [], wait_s)
            if sys.stdin in ready:
                return
            for port in ready:
                self._take(port)
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, port, packet = heappop(self._late)
                send(port, packet)

    def _take(self, port: socket.socket) -> None:
        packet = port.recv(1 << 17)
        to, source = packet[HEADER : HEADER + MAC], packet[HEADER + MAC : HEADER + 2 * MAC]
        self._places[source] = port
        known = self._places.get(to)
        for target in [known] if known else [other for other in self._ports if other is not port]:
            self._forward(target, packet)

    def _forward(self, port: socket.socket, packet: bytes) -> None:
        self.counts["passed"] += 1
        if random.random() < self._loss:
            self.counts["lost"] += 1
            return
        copies = 1
        if random.random() < self._duplicate:
            self.counts["doubled"] += 1
            copies = 2
        for _ in range(copies):
            if random.random() < self._reorder:
                self.counts["overtook"] += 1
                send(port, packet)
                continue
            due = time.monotonic() + self._delay_s + random.uniform(-self._jitter_s, self._jitter_s)
            heappush(self._late, (due, next(self._order), port, packet))


def open_port(name: str) -> socket.socket:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    for option in (PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING):
        port.setsockopt(SOL_PACKET, option, 1)
    port.setsockopt(socket.SOL_SOCKET, 33, BUFFER)  # SO_RCVBUFFORCE
    port.bind((name, ETH_P_ALL))
    return port


def send(port: socket.socket, packet: bytes) -> None:
    # An unplugged or saturated cable drops packets.
    try:
        port.send(packet)
    except OSError as error:
        print(error, flush=True)


def main(*arguments: str, kind: type[Switch] = Switch) -> None:
    switch = kind(tuple(map(float, arguments[:5])), list(arguments[5:]))
    print("ready", flush=True)
    switch.run()
    print(dict(switch.counts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
