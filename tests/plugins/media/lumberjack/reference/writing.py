"""A sending driver, and readers played by a test, on a simulated network and a manual clock."""

from __future__ import annotations

import struct
import zlib

from plain_codec import ack

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, S, Simulation

ADDRESS = SocketAddress.of("127.0.0.1", 5044)
CHANNEL = "aeron:lumberjack?endpoint=127.0.0.1:5044"


class Writing(Simulation):
    """A driver with a publication, and its reader."""

    def __init__(self, directory, keys="", *, listens=True, is_exclusive=True):
        super().__init__(directory)
        self.driver = self.add_driver()
        self.client = self.driver.connect()
        self.listener = self.connections.serve(ADDRESS) if listens else None
        add = (
            self.client.add_exclusive_publication_async if is_exclusive else self.client.add_publication_async
        )
        self.publication = self.result(add(f"{CHANNEL}{keys}", 7))
        self.reader = None

    def accept(self):
        """Accept the connection of the driver."""
        while (accepted := self.listener.accept()) is None:
            self.step()
        self.reader = accepted[0]
        # Large buffers: the capacity of the network is not tested here.
        self.reader.capacity = 1 << 24
        self.run_until(lambda: self.publication.is_connected)

    def offer(self, *payloads):
        for payload in payloads:
            self.run_until(lambda payload=payload: self.publication.offer(payload) >= 0)

    def offer_apart(self, *payloads):
        """Offer each message after the previous one is sent, while windows can be sent."""
        for payload in payloads:
            self.offer(payload)
            self.run()

    def run(self, duration_ns=20 * MS):
        self.idle_step_ns = 1 * MS if duration_ns <= 1 * S else 20 * MS
        self.run_for(duration_ns)

    def received_windows(self, duration_ns=20 * MS):
        """Return the received windows: lists of (sequence, payload)."""
        self.run(duration_ns)
        return windows(self.reader.received())

    def answer(self, *acks):
        self.reader.send(b"".join(acks))
        self.run()

    def unacknowledged(self):
        (sender,) = self.driver.find_counters("snd-pos")
        return self.publication.position - sender.value

    def counted(self, name):
        return self.driver.find_counter(f"lumberjack-writer-{name}:").value

    def errors(self):
        return [record.text for record in self.driver.errors()]


def windows(data):
    found = []
    while data:
        kind, number = data[:2], struct.unpack(">I", data[2:6])[0]
        if kind == b"2W":
            found.append([])
            size, data = number, data[6:]
        elif kind == b"2C":
            data = zlib.decompress(data[6 : 6 + number]) + data[6 + number :]
        else:
            assert kind == b"2J"
            (length,) = struct.unpack(">I", data[6:10])
            found[-1].append((number, data[10 : 10 + length]))
            data = data[10 + length :]
            assert len(found[-1]) <= size
    return found


def payloads(found):
    return [payload for window in found for _, payload in window]


def acknowledged(writing):
    """Acknowledge windows until all are acknowledged; return the payloads."""
    came = []
    for _ in range(400):
        found = writing.received_windows(10 * MS)
        came += payloads(found)
        writing.answer(*(ack(len(window)) for window in found))
        if writing.unacknowledged() == 0:
            return came
    raise AssertionError(f"{writing.unacknowledged()} bytes are not acknowledged; {writing.errors()}")
