"""Drivers with one SP channel each, and simulated peers, on a simulated network."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, Simulation

ADDRESS = SocketAddress.of("127.0.0.1", 5555)
CHANNEL = "aeron:sp?endpoint=127.0.0.1:5555"
STREAM = 7
PAIR0, PAIR1 = 16, 17
#: Flag in a reserved value: the message names a peer.
NAMES_PEER = 0x100


def greeting(protocol):
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)


class WirePeer:
    """A simulated peer at the other end of a connection."""

    def __init__(self, end, protocol=PAIR1):
        self.end = end
        # The capacity of the network must not matter here.
        end.capacity = 1 << 24
        self.protocol = protocol
        self.rest = b""
        self.has_ended = False

    def greet(self):
        self.end.send(greeting(self.protocol))

    def send_message(self, body, hops=1):
        """Send a message with its header, which PAIR0 does not have."""
        self.send_payload((struct.pack(">I", hops) if self.protocol == PAIR1 else b"") + body)

    def send_payload(self, payload):
        self.end.send(struct.pack(">Q", len(payload)) + payload)

    def greeting(self):
        """Return the greeting of the driver."""
        self._take()
        begun, self.rest = self.rest[:8], self.rest[8:]
        return begun

    def received_messages(self):
        """Return the received messages after the greeting, as (hops, body)."""
        self._take()
        found = []
        while len(self.rest) >= 8:
            (length,) = struct.unpack(">Q", self.rest[:8])
            if len(self.rest) < 8 + length:
                break
            payload, self.rest = self.rest[8 : 8 + length], self.rest[8 + length :]
            has_hops = self.protocol == PAIR1
            hops = struct.unpack(">I", payload[:4])[0] if has_hops else None
            found.append((hops, payload[4:] if has_hops else payload))
        return found

    def bodies(self):
        return [body for _, body in self.received_messages()]

    def _take(self):
        while (data := self.end.receive(1 << 20)) is not None:
            if not data:
                self.has_ended = True
                return
            self.rest += data

    def is_turned_away(self):
        self._take()
        return self.has_ended

    def leave(self):
        self.end.close()


class Endpoint:
    """A driver with one client, which has a publication and a subscription of one channel."""

    def __init__(self, simulation, mode, keys):
        self.simulation = simulation
        self.driver = simulation.add_driver()
        self.client = self.driver.connect()
        channel = f"{CHANNEL}|mode={mode}{keys}"
        self.subscription = simulation.result(self.client.add_subscription_async(channel, STREAM))
        self.publication = simulation.result(self.client.add_exclusive_publication_async(channel, STREAM))
        self.messages = []
        self.is_polling = True

    def poll(self):
        if self.is_polling:
            self.subscription.poll(self._on_message, 100)

    def _on_message(self, buffer, header):
        self.messages.append(
            SimpleNamespace(
                body=bytes(buffer), hops=header.reserved_value & 0xFF, session_id=header.session_id
            )
        )

    def bodies(self):
        return [message.body for message in self.messages]

    def sessions(self):
        return [image.session_id for image in self.subscription.images]

    def offer(self, *bodies, peer=None, hops=0):
        """Offer each message until it is accepted, to a peer if its session is given."""
        value = hops if peer is None else hops | NAMES_PEER | peer << 32
        for body in bodies:
            self.simulation.run_until(
                lambda body=body: self.publication.offer(body, reserved_value=value) > 0
            )

    def counted(self, name):
        # Publication and subscription publish the same socket in their own counters.
        return max(record.value for record in self.driver.find_counters(f"sp-{name}:"))

    def errors(self):
        return [record.text for record in self.driver.errors()]


class Pairing(Simulation):
    """Endpoints and simulated peers at one address."""

    def __init__(self, directory):
        super().__init__(directory)
        self.endpoints = []
        self.listener = None

    def endpoint(self, mode="listen", keys=""):
        self.endpoints.append(Endpoint(self, mode, keys))
        return self.endpoints[-1]

    def peer(self, protocol=PAIR1, *, greets=True):
        """Connect to the listening endpoint."""
        made = WirePeer(self.connections.dial(ADDRESS), protocol)
        if greets:
            made.greet()
            self.run()
            assert made.greeting() == greeting(protocol)
        return made

    def serve(self):
        self.listener = self.connections.serve(ADDRESS)

    def accept(self, protocol=PAIR1, *, greets=True):
        """Accept the connection of the connecting endpoint."""
        taken = []
        self.run_until(lambda: taken.append(self.listener.accept()) or taken[-1])
        made = WirePeer(taken[-1][0], protocol)
        if greets:
            made.greet()
            self.run()
            assert made.greeting() == greeting(protocol)
        return made

    def run(self, duration_ns=200 * MS):
        # Long waits are for deadlines: 60 rounds without work suffice.
        self.idle_step_ns = max(1 * MS, min(duration_ns // 60, 20 * MS))
        self.run_for(duration_ns, lambda: [each.poll() for each in self.endpoints])


@pytest.fixture
def pairing(tmp_path):
    with Pairing(tmp_path) as made:
        yield made
