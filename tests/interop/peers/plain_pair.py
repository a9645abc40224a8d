"""Our side of an SP connection in plain Python, over the connection type of the compiled agents."""

from __future__ import annotations

import struct
import time

from relayed_ends import receive, wait_for

NUMBERS = {"pair0": 16, "pair1": 17}


class Pair:
    """`hops` is the hop count of the peer's messages."""

    def __init__(self, probe, protocol, hops=1):
        self.probe = probe
        self._header = struct.pack(">I", 1) if protocol == "pair1" else b""
        self._received_header = struct.pack(">I", hops) if protocol == "pair1" else b""
        self._greeting = b"\0SP\0" + struct.pack(">HH", NUMBERS[protocol], 0)
        assert receive(probe, 8) == self._greeting
        probe.send(self._greeting)
        self._received = bytearray()

    def send(self, body):
        self._pass_on(struct.pack(">Q", len(self._header) + len(body)) + self._header + body)

    def _pass_on(self, data):
        left = memoryview(data)
        while left:
            sent = self.probe.send(left[:65536])
            left = left[sent:]
            received = self.probe.receive()
            self._received += received or b""
            if not sent and not received:
                time.sleep(0.0002)  # a relay thread or the peer is at work

    def receive(self):
        self._await(8)
        (length,) = struct.unpack(">Q", self._received[:8])
        self._await(8 + length)
        message = bytes(self._received[8 : 8 + length])
        del self._received[: 8 + length]
        assert message.startswith(self._received_header)
        return message[len(self._header) :]

    def _await(self, length):
        while len(self._received) < length:
            self._received += wait_for(self.probe.receive, 30)
