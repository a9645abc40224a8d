"""A switch with two ports whose impairments change: the kernel's netem is missing on some machines, and has no seed.

    switch.py SEED PORT PORT

Reads lines of JSON: {"port": 0, "delay": ms, "jitter": ms, "loss": %, "reorder": %, "duplicate": %} impairs what
leaves by that port, loss 100 drops everything. Prints `ready`, and at the end the number of affected packets.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import socket
import sys
import time
from collections import Counter
from heapq import heappop, heappush

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_VNET_HDR = 15  # keep the offloaded checksum state: both ends of a veth leave the checksum to the other
PACKET_IGNORE_OUTGOING = 23
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
BUFFER = 8 << 20
NONE = {"delay": 0.0, "jitter": 0.0, "loss": 0.0, "reorder": 0.0, "duplicate": 0.0}


class Switch:
    """Forwards each packet to the other port."""

    def __init__(self, seed: str, names: list[str]) -> None:
        self._chance = random.Random(seed)
        self._ports = [open_port(name) for name in names]
        self._conditions = [dict(NONE), dict(NONE)]
        self._late: list[tuple[float, int, int, bytes]] = []
        self._order = itertools.count()
        self._commands = b""
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        while True:
            wait_s = max(self._late[0][0] - time.monotonic(), 0) if self._late else None
            ready, _, _ = select.select([sys.stdin, *self._ports], [], [], wait_s)
            if sys.stdin in ready and not self._read_commands():
                return
            for index, port in enumerate(self._ports):
                if port in ready:
                    self._take(port, 1 - index)
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, index, packet = heappop(self._late)
                self._send(index, packet)

    def _read_commands(self) -> bool:
        data = os.read(sys.stdin.fileno(), 1 << 16)
        *lines, self._commands = (self._commands + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            self._conditions[command.pop("port")] = NONE | command
        return bool(data)

    def _take(self, port: socket.socket, index: int) -> None:
        try:
            packet = port.recv(1 << 17)
        except BlockingIOError:
            # What `select` reported was the error of a link that went down, which a packet sent meanwhile has taken.
            return
        except OSError:  # the link is down
            self.counts["down"] += 1
            return
        conditions, chance = self._conditions[index], self._chance
        self.counts["passed"] += 1
        if chance.random() * 100 < conditions["loss"]:
            self.counts["lost"] += 1
            return
        copies = 1
        if chance.random() * 100 < conditions["duplicate"]:
            self.counts["doubled"] += 1
            copies = 2
        for _ in range(copies):
            delay_s = conditions["delay"] / 1000
            if not delay_s or chance.random() * 100 < conditions["reorder"]:
                self._send(index, packet)
                continue
            jitter_s = conditions["jitter"] / 1000
            due = time.monotonic() + delay_s + chance.uniform(-jitter_s, jitter_s)
            heappush(self._late, (due, next(self._order), index, packet))

    def _send(self, index: int, packet: bytes) -> None:
        # An unplugged or saturated cable drops packets.
        try:
            self._ports[index].send(packet)
        except OSError:
            self.counts["unsent"] += 1


def open_port(name: str) -> socket.socket:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    for option in (PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING):
        port.setsockopt(SOL_PACKET, option, 1)
    for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        port.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    # A call that waits for one port would stop the traffic of both, and the commands.
    port.setblocking(False)
    port.bind((name, ETH_P_ALL))
    return port


def main(seed: str, *names: str) -> None:
    switch = Switch(seed, list(names))
    print("ready", flush=True)
    switch.run()
    print(json.dumps(switch.counts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
