"""Our driver as one party of a capture, with a client that publishes the same messages as the captured one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from captures import Capture, Datagram, Decisions, Frame

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.subscriptions.header import Header
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.protocol.frames import Setup
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing.pair import MS, US, Simulation
from aeron_core.testing.probes import DatagramProbe

STEP_NS = 100 * US
# After 5 ms without work only timers are left: those of the reference are whole milliseconds.
IDLE_STEP_NS = 1 * MS
IDLE_ROUNDS = 50
FOREVER_NS = 1 << 62
END = wire.DATA_FLAG_END


class Replay:
    """Our driver as one party of a capture, with one client."""

    def __init__(
        self,
        directory: Path,
        capture: Capture,
        party: str,
        *,
        is_lost: Callable[[Capture, Datagram], bool] = lambda *_: False,
        **settings: Any,
    ) -> None:
        self.capture = capture
        self.party = party
        self.simulation = Simulation(directory, busy_step_ns=STEP_NS, idle_step_ns=STEP_NS)
        network = self.simulation.network
        self._host = network.host("127.0.0.1", "::1")
        # Bind the ports of the other parties before the driver can choose one of them.
        self._others: dict[tuple[str, int], DatagramProbe] = {}
        for datagram in capture.datagrams:
            if datagram.sender != party and datagram.source not in self._others:
                options = DatagramOptions(SocketAddress.of(*datagram.source))
                self._others[datagram.source] = DatagramProbe(self._host.open(options))
        self.driver = self.simulation.add_driver(**settings)
        self.client = self.driver.connect()
        self.received: list[tuple[int, int, bytes]] = []
        self.subscriptions: list[Subscription] = []
        self.start_ns = self.simulation.now_ns
        self._is_lost = is_lost
        self._idle_rounds = 0
        self.sent: list[Datagram] = []
        self._logged = 0
        self._naks = [
            (datagram.time_ns, nak)
            for datagram in capture.sent_by(party)
            for nak in Decisions([datagram]).naks
        ]
        self._own_sources = {datagram.source for datagram in capture.sent_by(party)}

    @property
    def now_ns(self) -> int:
        """The current time of the capture."""
        return self.simulation.now_ns - self.start_ns

    @property
    def decided(self) -> Decisions:
        """The decisions of our driver so far."""
        return Decisions(self.sent)

    def captured_decisions(self) -> Decisions:
        """Return the decisions of the real driver."""
        return Decisions(self.capture.sent_by(self.party))

    def subscribe(self, channel: str, stream_id: int) -> Subscription:
        self.subscriptions.append(
            self.simulation.result(self.client.add_subscription_async(channel, stream_id))
        )
        return self.subscriptions[-1]

    def publish(self, channel: str, setup: Setup) -> ExclusivePublication:
        """Add a publication with the ids and the position of the captured one."""
        ids = (
            f"|session-id={setup.session_id}|init-term-id={setup.initial_term_id}"
            f"|term-id={setup.active_term_id}|term-offset={setup.term_offset}"
        )
        channel += "" if "init-term-id" in channel else ids
        return self.simulation.result(self.client.add_exclusive_publication_async(channel, setup.stream_id))

    def run_until(self, time_ns: int) -> None:
        while self.now_ns < time_ns:
            self.step(time_ns - self.now_ns)

    def start_when(self, condition: Callable[[], object]) -> None:
        """Start the time of the capture when `condition` is true."""
        while not condition():
            self.step()
        self.start_ns = self.simulation.now_ns

    def step(self, at_most_ns: int = STEP_NS) -> None:
        """Run one round and advance the time, by at most `at_most_ns` if nothing happens."""
        idle_step_ns = IDLE_STEP_NS if self._idle_rounds >= IDLE_ROUNDS else STEP_NS
        self.simulation.idle_step_ns = min(idle_step_ns, max(at_most_ns, STEP_NS))
        self._idle_rounds = 0 if self.simulation.step() else self._idle_rounds + 1
        for subscription in self.subscriptions:
            subscription.poll(self._take, 100)
        self._collect()

    def run(
        self,
        on_own: Callable[[Datagram], object] = lambda _: None,
        *,
        begin_ns: int = 0,
        end_ns: int = FOREVER_NS,
    ) -> None:
        """Send the other parties' datagrams at their times; call `on_own` for those of the replaced party."""
        for datagram in self.capture.datagrams:
            if not begin_ns <= datagram.time_ns < end_ns:
                continue
            self.run_until(datagram.time_ns)
            if datagram.sender == self.party:
                on_own(datagram)
            elif self.party in datagram.to and not self._is_lost(self.capture, datagram):
                self._await_naks(datagram)
                self.send_captured(datagram)
        self.run_until(min(self.capture.datagrams[-1].time_ns + 10 * STEP_NS, end_ns))

    def _await_naks(self, datagram: Datagram) -> None:
        """Delay requested retransmissions until our receiver has requested them: it may be microseconds slower."""
        first = datagram.frames[0]
        if not self._naks or not first.is_data:
            return
        place = first.fields("term_id", "term_offset")
        asked = {nak for at, nak in self._naks if at <= datagram.time_ns and nak[2:4] == place}
        for _ in range(10):
            if asked <= set(self.decided.naks):
                return
            self.step()

    def send_captured(self, datagram: Datagram) -> None:
        """Send a datagram of another party to the current address of our driver."""
        self._collect()
        destination = self._destination_of(datagram)
        self._others[datagram.source].send([(datagram.data, max(len(datagram.data), 1))], destination)
        self._logged = len(self.simulation.network.log)

    def _destination_of(self, datagram: Datagram) -> SocketAddress:
        """Return the address of our driver for a captured one: its port may differ."""
        host, port = datagram.destination
        mine = [one.source for one in self.sent if one.destination == datagram.source]
        if datagram.destination in self._own_sources and mine and mine[-1] not in self._own_sources:
            host, port = mine[-1]
        return SocketAddress.of(host, port)

    def _collect(self) -> None:
        log = self.simulation.network.log
        for line in log[self._logged :]:
            source, destination = _address(line.source), _address(line.destination)
            self.sent.append(
                Datagram(line.time_ns - self.start_ns, self.party, (), source, destination, line.data)
            )
        self._logged = len(log)

    def _take(self, buffer: memoryview, header: Header) -> None:
        self.received.append((header.session_id, header.position, bytes(buffer)))


class Publisher:
    """Adds the publication, offers, and closes or revokes it when the captured client did."""

    def __init__(self, replay: Replay, channel: str) -> None:
        self.replay = replay
        self.channel = channel
        self.publication: ExclusivePublication | None = None
        self._parts = b""
        self._waiting: list[tuple[bytes, int]] = []
        self._last = (-1 << 31, -1)

    def publish(self, setup: Setup) -> None:
        self.publication = self.replay.publish(self.channel, setup)

    def on_own(self, datagram: Datagram) -> None:
        self.offer()
        for frame in datagram.frames:
            if isinstance(frame.header, Setup) and self.publication is None:
                self.publish(frame.header)
            elif frame.is_data:
                self._take(frame)
            elif frame.is_heartbeat and frame.header.flags & wire.DATA_FLAG_EOS:
                self._end(is_revoked=bool(frame.header.flags & wire.DATA_FLAG_REVOKED))

    def _end(self, *, is_revoked: bool) -> None:
        assert self.publication is not None
        if not self.publication.is_closed:
            end = self.publication.revoke if is_revoked else self.publication.close
            end()

    def _take(self, frame: Frame) -> None:
        assert self.publication is not None
        header = frame.header
        place = header.term_id, header.term_offset
        if place <= self._last:
            return  # a retransmission, or sent to another destination
        self._last = place
        if header.frame_type == wire.TYPE_PAD:
            if header.term_offset + frame.aligned_length == self.publication.term_buffer_length:
                return  # created by a message too long for the rest of the term
            self.publication.append_padding(header.frame_length - wire.DATA_HEADER_LENGTH)
            return
        self._parts += frame.payload
        if header.flags & END:
            self._waiting.append((self._parts, header.reserved_value))
            self._parts = b""
            self.offer()

    def offer(self) -> None:
        """Offer the next messages; retry later if flow control does not allow it, as the file omits some frames."""
        while self._waiting:
            assert self.publication is not None
            message, reserved_value = self._waiting[0]
            if self.publication.offer(message, reserved_value=reserved_value) < 0:
                return
            del self._waiting[0]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
