"""A driver with a PAIR socket, and simulated peers, on a simulated network."""

from __future__ import annotations

import struct
from types import SimpleNamespace

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, Simulation

ADDRESS = SocketAddress.of("127.0.0.1", 5555)
LISTENING = "aeron:sp?endpoint=127.0.0.1:5555|mode=listen"
DIALING = "aeron:sp?endpoint=127.0.0.1:5555|mode=dial"
PAIR0 = 16
PAIR1 = 17
STREAM = 7


def greeting(protocol=PAIR1):
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)


def message(body, hops=1):
    payload = struct.pack(">I", hops) + body
    return struct.pack(">Q", len(payload)) + payload


class Pairing(Simulation):
    """A driver with a client, a subscription and a publication of one channel."""

    def __init__(self, directory, channel=LISTENING, keys="", *, subscribes=True, publishes=True):
        super().__init__(directory)
        self.channel = channel + keys
        self.driver = self.add_driver()
        self.client = self.driver.connect()
        self.received = []
        self.is_polling = True
        # Accepts the connections of the driver, if it connects.
        self.listener = self.connections.serve(ADDRESS) if channel == DIALING else None
        self.subscription = self.subscribe() if subscribes else None
        self.publication = self.publish() if publishes else None

    def subscribe(self, stream_id=STREAM):
        return self.result(self.client.add_subscription_async(self.channel, stream_id))

    def publish(self, stream_id=STREAM):
        return self.result(self.client.add_publication_async(self.channel, stream_id))

    def poll(self):
        if self.is_polling and self.subscription is not None:
            self.subscription.poll(self._on_message, 100)

    def _on_message(self, buffer, header):
        self.received.append(
            SimpleNamespace(
                body=bytes(buffer),
                hops=header.reserved_value,
                session_id=header.session_id,
                flags=header.flags,
            )
        )

    def run(self, duration_ns=100 * MS):
        # Long waits are for deadlines: 60 rounds without work suffice.
        self.idle_step_ns = max(1 * MS, min(duration_ns // 60, 20 * MS))
        self.run_for(duration_ns, self.poll)

    def until(self, condition):
        self.idle_step_ns = 1 * MS
        self.run_until(lambda: self.poll() or condition())

    def dial(self, host="127.0.0.1"):
        """Return a peer that has connected and sent nothing yet."""
        peer = self.connections.dial(ADDRESS, host)
        self.run()
        return peer

    def accept(self):
        """Return a peer that has accepted a connection and sent nothing yet."""
        taken = []

        def has_taken():
            found = self.listener.accept()
            if found is not None:
                taken.append(found[0])
            return bool(taken)

        self.until(has_taken)
        return taken[0]

    def read_exactly(self, peer, length):
        """Return the next `length` bytes that a peer receives, in any number of pieces."""
        received = b""

        def is_complete():
            nonlocal received
            received += received_by(peer, length - len(received))
            return len(received) == length

        self.until(is_complete)
        return received

    def join(self, protocol=PAIR1):
        """Return a peer after the exchange of greetings, whichever end connects."""
        peer = self.dial() if self.listener is None else self.accept()
        self.send_from(peer, greeting(protocol))
        self.run()
        assert received_by(peer, len(greeting())) == greeting(protocol)
        return peer

    def send_from(self, peer, data):
        """Send all of `data`, as fast as the driver reads."""
        while data:
            data = data[peer.send(data) :]
            self.run(10 * MS)
        self.run()

    def offer(self, body, **options):
        results = []
        self.until(lambda: results.append(self.publication.offer(body, **options)) or results[-1] > 0)
        self.run()

    def bodies(self):
        return [received.body for received in self.received]

    def counted(self, name):
        # Both endpoints have the counters of connections.
        return max(record.value for record in self.driver.find_counters(f"sp-{name}:"))

    def errors(self):
        self.run(1100 * MS)
        return [record.text for record in self.driver.errors()]


def received_by(peer, length=1 << 30):
    """Return up to `length` bytes that a peer has received."""
    return peer.receive(length) or b""


def is_gone(peer):
    """Return whether the driver has closed the connection and its data was read."""
    try:
        return peer.receive(1 << 30) == b""
    except OSError:
        return True
