"""A driver double that answers commands, for clients under test."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core._native.counter import AtomicCounter
from aeron_core.concurrent.broadcast_transmitter import BroadcastTransmitter
from aeron_core.concurrent.counters import CountersManager
from aeron_core.concurrent.mapped_file import create_mapped_file
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.protocol import commands, responses
from aeron_core.protocol.cnc import CncFile, CncLayout

TERM_LENGTH = 65536
LIMIT = 32768


@dataclass
class DriverDouble:
    """Answers commands like a driver, with logs in files and no network; runs only when called."""

    directory: Path
    clock: Clock
    received: list[commands.DriverCommand] = field(default_factory=list)
    is_silent: bool = False
    refusal: tuple[int, str] | None = None
    counter_count: int = 64
    #: Types of commands that are refused.
    refused_commands: set[type] = field(default_factory=set)
    #: Position at which subscribers join the streams that exist.
    join_position: int = 0

    def __post_init__(self) -> None:
        layout = CncLayout.of(
            to_driver_length=65536 + wire.RING_TRAILER_LENGTH,
            to_clients_length=65536 + wire.BROADCAST_TRAILER_LENGTH,
            counters_values_length=self.counter_count * wire.COUNTER_VALUE_LENGTH,
            error_log_length=4096,
            page_size=4096,
        )
        self.cnc = CncFile.create(
            self.directory / "cnc.dat",
            layout,
            client_liveness_timeout_ns=10_000_000_000,
            start_timestamp_ms=self.clock.epoch_ms(),
            pid=1,
            fill=False,
        )
        self.ring = ManyToOneRingBuffer(self.cnc.to_driver)
        self.transmitter = BroadcastTransmitter(self.cnc.to_clients)
        self.counters = CountersManager(self.cnc.counters_metadata, self.cnc.counters_values, self.clock, 0)
        self.clients: dict[int, int] = {}  # heartbeat counters
        self.publications: dict[int, tuple[int, str]] = {}  # stream and log of each
        self.subscriptions: dict[int, int] = {}  # stream of each
        self.positions: dict[int, int] = {}  # last counter of a subscriber position of each publication
        self.ring.next_correlation_id()
        self.beat()
        self.cnc.publish()

    def beat(self) -> None:
        self.ring.consumer_heartbeat_ms = self.clock.epoch_ms()

    def do_work(self) -> int:
        if self.is_silent:
            return 0
        return self.ring.read(self._on_command, 10)

    def answer(self, response: responses.Response) -> None:
        self.transmitter.transmit(response.TYPE_ID, response.encode())

    def of_type(self, kind: type) -> list[Any]:
        return [command for command in self.received if isinstance(command, kind)]

    def _on_command(self, type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> None:
        command = commands.decode_command(type_id, buffer, offset, length)
        self.received.append(command)
        if isinstance(command, commands.ClientClose):
            return
        if command.client_id not in self.clients:
            counter_id = self.counters.allocate(
                11, f"client-heartbeat: id={command.client_id}", registration_id=command.client_id
            )
            self.clients[command.client_id] = counter_id
            self.answer(responses.OnCounterReady(command.client_id, counter_id))
        if self.refusal is not None:
            self.answer(responses.OnError(command.correlation_id, *self.refusal))
            return
        if type(command) in self.refused_commands:
            self.answer(responses.OnError(command.correlation_id, 11, "refused"))
            return
        handler = getattr(self, f"_on_{type(command).__name__}", None)
        if handler is None:
            self.answer(responses.OnOperationSuccess(command.correlation_id))
        else:
            handler(command)

    def _add_publication(self, command: Any, response: type) -> None:
        id_ = command.correlation_id
        path = self.directory / f"{id_}.logbuffer"
        params = LogBufferParams(
            initial_term_id=7,
            term_length=TERM_LENGTH,
            mtu_length=1408,
            session_id=100 + id_,
            stream_id=command.stream_id,
            correlation_id=id_,
        )
        log = LogBuffer.initialize(create_mapped_file(path, params.log_length, sparse=True), params)
        log.set_is_connected(True)
        limit_id = self.counters.allocate(1, "pub-lmt")
        self.counters.set_value(limit_id, LIMIT)
        self.publications[id_] = (command.stream_id, str(path))
        self.answer(response(id_, id_, 100 + id_, command.stream_id, limit_id, -1, str(path)))
        for subscription_id, stream_id in self.subscriptions.items():
            if stream_id == command.stream_id:
                self.make_image(id_, subscription_id)

    def make_image(self, publication_id: int, subscription_id: int) -> None:
        stream_id, path = self.publications[publication_id]
        position_id = self.counters.allocate(4, "sub-pos", registration_id=subscription_id)
        self.counters.set_value(position_id, self.join_position)
        self.positions[publication_id] = position_id
        self.answer(
            responses.OnAvailableImage(
                publication_id,
                100 + publication_id,
                stream_id,
                subscription_id,
                position_id,
                path,
                "aeron:ipc",
            )
        )

    def position_of(self, publication_id: int) -> AtomicCounter:
        """Return the position of the last subscriber of a publication."""
        return AtomicCounter(self.cnc.counters_values, self.positions[publication_id])

    def take_image(self, publication_id: int, subscription_id: int) -> None:
        stream_id, _ = self.publications[publication_id]
        self.answer(responses.OnUnavailableImage(publication_id, subscription_id, stream_id, "aeron:ipc"))

    def _on_AddPublication(self, command: commands.AddPublication) -> None:  # noqa: N802
        self._add_publication(command, responses.OnPublicationReady)

    def _on_AddExclusivePublication(self, command: commands.AddExclusivePublication) -> None:  # noqa: N802
        self._add_publication(command, responses.OnExclusivePublicationReady)

    def _on_AddSubscription(self, command: commands.AddSubscription) -> None:  # noqa: N802
        self.subscriptions[command.correlation_id] = command.stream_id
        self.answer(responses.OnSubscriptionReady(command.correlation_id, -1))
        for publication_id, (stream_id, _) in self.publications.items():
            if stream_id == command.stream_id:
                self.make_image(publication_id, command.correlation_id)

    def _on_AddCounter(self, command: commands.AddCounter) -> None:  # noqa: N802
        counter_id = self.counters.allocate(
            command.counter_type_id, command.label, command.key, registration_id=command.correlation_id
        )
        self.answer(responses.OnCounterReady(command.correlation_id, counter_id))

    def _on_AddStaticCounter(self, command: commands.AddStaticCounter) -> None:  # noqa: N802
        counter_id = self.counters.find(command.counter_type_id, command.registration_id)
        if counter_id < 0:
            counter_id = self.counters.allocate(
                command.counter_type_id,
                command.label,
                command.key,
                registration_id=command.registration_id,
            )
        self.answer(responses.OnStaticCounter(command.correlation_id, counter_id))
