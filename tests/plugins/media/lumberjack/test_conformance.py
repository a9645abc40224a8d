"""The medium `lumberjack` passes the suite for media with connections."""

import struct

from plain_codec import ack, json_event, window
from reading import ADDRESS, CHANNEL

from aeron_core.testing.conformance import ConnectionMediumConformance, Wire


class LumberjackWire(Wire):
    """Version 2 without compression; each message that is sent is a window of its own."""

    def __init__(self):
        # Of each message that was received and not confirmed: its sequence number, 0 unless it ends its window.
        self._pending = []
        self._window = 0

    def encode(self, body):
        return window(1) + json_event(1, body)

    def decode(self, data):
        self._rest += data
        found = []
        while len(self._rest) >= 6:
            kind, number = self._rest[:2], struct.unpack(">I", self._rest[2:6])[0]
            if kind == b"2W":
                self._window, self._rest = number, self._rest[6:]
                continue
            assert kind == b"2J"
            if len(self._rest) < 10 or len(self._rest) < (
                end := 10 + int.from_bytes(self._rest[6:10], "big")
            ):
                break
            found.append(self._rest[10:end])
            self._pending.append(number if number == self._window else 0)
            self._rest = self._rest[end:]
        return found

    def confirm(self, count):
        confirmed, self._pending = self._pending[:count], self._pending[count:]
        return b"".join(ack(sequence) for sequence in confirmed if sequence)

    def confirmed(self, data):
        # A keep-alive acknowledges 0 events, and windows are of one event.
        return sum(int.from_bytes(data[at + 2 : at + 6], "big") for at in range(0, len(data), 6))


class TestLumberjack(ConnectionMediumConformance):
    listening = f"{CHANNEL}|term-length=64k"
    connecting = f"{CHANNEL}|term-length=64k|compression=0"
    address = ADDRESS
    # No frame has the type Z.
    malformed = b"2Z\0\0\0\0"
    counters = "lumberjack-"
    acknowledges = True

    def make_wire(self):
        return LumberjackWire()
