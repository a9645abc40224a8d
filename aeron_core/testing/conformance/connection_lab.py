"""A driver on a simulated network, and simulated peers, for the suite of media with connections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core._native.address import SocketAddress
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.testing.connections import ConnectionPeer
from aeron_core.testing.pair import MS, S, Simulation

if TYPE_CHECKING:
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription

_STREAM_ID: Final = 7
#: Time for a lost connection to be made again, or for an image that ended to be released.
_PATIENCE_NS: Final = 120 * S


class Wire(ABC):
    """The protocol of one connection, as the peer implements it."""

    _rest = b""

    def greeting(self) -> bytes:
        """Return the bytes that a peer sends first on a new connection; none by default."""
        return b""

    @abstractmethod
    def encode(self, body: bytes) -> bytes:
        """Return the bytes of a message with the payload `body`."""

    @abstractmethod
    def decode(self, data: bytes) -> list[bytes]:
        """Return the payloads of the messages that `data` completes; keep an incomplete one for the next call."""

    def confirm(self, count: int) -> bytes:
        """Return the acknowledgement of `count` more messages; override for a medium that acknowledges."""
        raise NotImplementedError("confirm: must be overridden if the suite has acknowledges = True")

    def confirmed(self, data: bytes) -> int:
        """Return how many messages the driver acknowledges in `data`; override for a medium that acknowledges."""
        raise NotImplementedError("confirmed: must be overridden if the suite has acknowledges = True")


class WirePeer:
    """The peer of the driver: a simulated connection and the protocol on it."""

    def __init__(self, connection: ConnectionPeer, wire: Wire) -> None:
        self.connection = connection
        self.wire = wire
        self.messages: list[bytes] = []
        self._unsent = deque([wire.greeting()])

    def send(self, body: bytes) -> None:
        """Queue a message; `work` sends it as far as the connection accepts it."""
        self.send_raw(self.wire.encode(body))

    def send_raw(self, data: bytes) -> None:
        """Queue bytes, which `work` sends as far as the connection accepts them."""
        self._unsent.append(data)

    @property
    def is_idle(self) -> bool:
        """Whether all queued bytes were sent."""
        return not self._unsent

    def work(self) -> None:
        """Send queued bytes until the connection accepts no more; nothing once it is closed."""
        while self._unsent and not self.is_closed:
            rest = self._unsent[0][self.connection.send(self._unsent[0]) :]
            if rest:
                self._unsent[0] = rest
                return
            self._unsent.popleft()

    def receive(self) -> list[bytes]:
        """Receive, and return all messages that have arrived so far."""
        self.messages += self.wire.decode(self.connection.received())
        return self.messages

    @property
    def is_closed(self) -> bool:
        """Whether the driver has closed the connection."""
        return self.connection.is_closed_by_peer


class ConnectionMedium(ABC):
    """The properties of a medium, which a subclass of the suite sets."""

    #: A subscription to this channel listens at `address` and takes several peers; with `limit` appended, it takes one.
    listening: str
    limit = "|max-connections=1"
    #: A publication to this channel connects to `address`.
    connecting: str
    address: SocketAddress
    #: Bytes that violate the protocol after the greeting.
    malformed: bytes
    #: Prefix of the labels of the endpoint's counters.
    counters: str
    #: Whether receivers acknowledge messages, and sender positions wait for that.
    acknowledges = False

    @abstractmethod
    def make_wire(self) -> Wire:
        """Return the protocol of a new connection."""


class ConnectionLab(Simulation):
    """A driver with one client, and simulated peers."""

    def __init__(self, directory: Path, suite: ConnectionMedium) -> None:
        super().__init__(directory)
        self._suite = suite
        self.driver = self.add_driver()
        self.client = self.driver.connect()
        self.received: list[bytes] = []
        self.is_polling = True
        self._peers: list[WirePeer] = []
        self._subscriptions: list[Subscription] = []
        self._assembler = FragmentAssembler(self._on_message)

    def subscribe(self, channel: str) -> Subscription:
        """Add a subscription; its messages are collected in `received`."""
        subscription = self.result(self.client.add_subscription_async(channel, _STREAM_ID))
        self._subscriptions.append(subscription)
        return subscription

    def publish(self) -> Publication:
        """Add a publication to the connecting channel and return it."""
        return self.result(self.client.add_publication_async(self._suite.connecting, _STREAM_ID))

    def serve(self) -> None:
        """Listen at the address that the publication connects to."""
        self._listener = self.connections.serve(self._suite.address)

    def dial(self) -> WirePeer:
        """Return a peer that has connected to the driver."""
        return self._add(self.connections.dial(self._suite.address))

    def accept(self) -> WirePeer:
        """Run until the driver has connected to the listener of `serve`; return the peer, or raise as `until`."""
        taken: list[ConnectionPeer] = []

        def has_taken() -> bool:
            found = self._listener.accept()
            if found is not None:
                taken.append(found[0])
            return bool(taken)

        self.until(has_taken)
        return self._add(taken[0])

    def _add(self, connection: ConnectionPeer) -> WirePeer:
        peer = WirePeer(connection, self._suite.make_wire())
        self._peers.append(peer)
        return peer

    def read(self, peer: WirePeer) -> list[bytes]:
        """Receive, confirm new messages if the medium acknowledges, and return all messages of a peer so far."""
        before = len(peer.messages)
        new = len(peer.receive()) - before
        if self._suite.acknowledges and new > 0:
            peer.send_raw(peer.wire.confirm(new))
        return peer.messages

    def run(self, duration_ns: int) -> None:
        """Run the driver, its subscribers and its peers for `duration_ns` of simulated time."""
        self.idle_step_ns = 1 * MS
        self.run_for(duration_ns, self._work)

    def until(self, condition: Callable[[], object]) -> None:
        """Run the driver, its subscribers and its peers until `condition` holds.

        Raises AssertionError if it does not within 120 simulated seconds.
        """
        self.idle_step_ns = 5 * MS

        def holds() -> object:
            self._work()
            return condition()

        self.run_until(holds, within_ns=_PATIENCE_NS)

    def _work(self) -> None:
        for peer in self._peers:
            peer.work()
        if self.is_polling:
            for subscription in self._subscriptions:
                subscription.poll(self._assembler, 100)

    def _on_message(self, buffer: memoryview, header: Header) -> None:
        self.received.append(bytes(buffer))

    def sender_position(self) -> int:
        """Return the sender position of the publication, in bytes; raise ValueError unless there is one counter."""
        return self.driver.find_counter("snd-pos").value

    def errors(self) -> list[str]:
        """Return the records of the error log as text, each with the peer of its last occurrence, if any."""
        return [record.line for record in self.driver.errors()]
