"""A listening driver with subscribers, and writers played by a test, on a simulated network."""

from __future__ import annotations

from types import SimpleNamespace

from plain_codec import ack, json_event

from aeron_core._native.address import SocketAddress
from aeron_core.testing.pair import MS, Simulation

ADDRESS = SocketAddress.of("127.0.0.1", 5044)
CHANNEL = "aeron:lumberjack?endpoint=127.0.0.1:5044"
KEEP_ALIVE = ack(0)
CLOSED = b"(connection closed)"


class Reading(Simulation):
    """A driver with subscribers, and writers created by a test."""

    def __init__(self, directory, keys="", stream_ids=(7,), **settings):
        super().__init__(directory)
        self.driver = self.add_driver(**settings)
        self.client = self.driver.connect()
        self.events = []
        self.is_polling = True
        self.subscriptions = [self.subscribe(stream_id, keys) for stream_id in stream_ids]

    def subscribe(self, stream_id, keys="", client=None):
        client = client or self.client
        return self.result(client.add_subscription_async(f"{CHANNEL}{keys}", stream_id))

    def dial(self, host="127.0.0.1"):
        return self.connections.dial(ADDRESS, host)

    def poll(self):
        if self.is_polling:
            for subscription in self.subscriptions:
                subscription.poll(self._on_event, 100)

    def _on_event(self, buffer, header):
        self.events.append(
            SimpleNamespace(
                payload=bytes(buffer),
                sequence=header.reserved_value,
                stream_id=header.stream_id,
                session_id=header.session_id,
                flags=header.flags,
            )
        )

    def run(self, duration_ns=300 * MS):
        # Long waits are for deadlines: 60 rounds without work suffice.
        self.idle_step_ns = max(1 * MS, min(duration_ns // 60, 20 * MS))
        self.run_for(duration_ns, self.poll)

    def payloads(self):
        return [event.payload for event in self.events]

    def counted(self, name):
        return self.driver.find_counter(f"lumberjack-{name}:").value

    def errors(self):
        return [record.text for record in self.driver.errors()]

    def exchange(self, writer, data, duration_ns=300 * MS):
        """Send, and return the answers, followed by GONE if the connection was closed."""
        while data:
            data = data[writer.send(data) :]
            self.run(10 * MS)
        self.run(duration_ns)
        return received_by(writer)


def received_by(writer):
    answer = b""
    while (data := writer.receive(1 << 20)) is not None:
        if not data:
            return answer + CLOSED
        answer += data
    return answer


def events(*sequences, payload=b'{"message":"m"}', version=b"2"):
    return b"".join(json_event(sequence, payload, version) for sequence in sequences)
