"""A client of a hostile driver: it closes, or reports what it cannot use, and the calls of its program still end.

An input is steps, an operation and a block each: calls of the program, responses, changes of the memory that the driver
shares, and time. The ids of the client and of its commands are consecutive, from 1 on.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core.client.aeron import Aeron
from aeron_core.client.conductor.conductor import ClientConductor
from aeron_core.client.conductor.operations import ClientOperations
from aeron_core.client.handlers import ClientHandlers
from aeron_core.client.publications.publication_base import PublicationBase
from aeron_core.client.registrations import Registration
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.broadcast_transmitter import BroadcastTransmitter
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import AeronError
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.protocol import responses
from aeron_core.protocol.cnc import CncFile, CncLayout
from aeron_core.settings.models import ClientSettings
from targets._messages import messages
from targets._script import Script, block
from targets._simulations import at_close, folder_in_memory
from targets._texts import check_text

MAX_STEPS = 24
#: Operations of a step.
CALL, RESPONSE, RECORDS, POSITIONS, COUNTERS, LOG, TIME = range(7)
OPERATIONS = 7
COUNTER_COUNT = 64
LAYOUT = CncLayout.of(
    to_driver_length=8192 + wire.RING_TRAILER_LENGTH,
    to_clients_length=2048 + wire.BROADCAST_TRAILER_LENGTH,
    counters_values_length=COUNTER_COUNT * wire.COUNTER_VALUE_LENGTH,
    error_log_length=1024,
    page_size=4096,
)
MS = 1_000_000
SECOND = 1_000 * MS
CHANNEL = "aeron:ipc"
TERM_LENGTH = 65536
#: The path in responses that stands for the log of an input. Both lengths are multiples of 4, as in padded texts.
LOG_PATH = b"/log"
#: Offsets in a log from which on they are in its metadata.
IN_METADATA = 1 << 15
MAX_WATCHES = 4
#: Counters of the limit of a publication, and of the position of an image.
LIMIT_ID, POSITION_ID = 50, 51

_resources = ExitStack()
_numbers = count()


@cache
def folder() -> Path:
    """Return a folder that exists until `close_all`, or the end of the process."""
    return _resources.enter_context(folder_in_memory())


@cache
def log_metadata() -> bytes:
    params = LogBufferParams(
        initial_term_id=7,
        term_length=TERM_LENGTH,
        mtu_length=1408,
        session_id=9,
        stream_id=5,
        correlation_id=2,
    )
    log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
    log.set_is_connected(True)
    return log.buffer.get_bytes(log.metadata_offset, wire.LOG_META_DATA_LENGTH)


def _close() -> None:
    _resources.close()
    folder.cache_clear()


at_close(_close)
atexit.register(_close)


def step(operation: int, data: bytes = b"") -> bytes:
    return block(data, operation)


def response(message: responses.Response) -> bytes:
    return step(RESPONSE, message.TYPE_ID.to_bytes(2, "little") + message.encode())


def seeds() -> list[bytes]:
    log = LOG_PATH.decode()
    # The client has id 1; the commands of its calls have 2, 3, ...
    added = (
        step(CALL, b"\0\1\2\3")
        + response(responses.OnPublicationReady(2, 2, 9, 5, LIMIT_ID, -1, log))
        + response(responses.OnExclusivePublicationReady(3, 3, 9, 5, LIMIT_ID, -1, log))
        + response(responses.OnSubscriptionReady(4, -1))
        + response(responses.OnCounterReady(5, 52))
        + step(TIME, b"\1")
    )
    image = response(responses.OnAvailableImage(2, 9, 5, 4, POSITION_ID, log, "aeron:ipc"))
    frame = bytes.fromhex("2800000000c00100000000000900000005000000070000000000000000000000") + b"message!"
    return [
        added + image + step(LOG, bytes(2) + frame) + step(TIME) + step(CALL, b"\x08\x09\x0a\x0b\x0c"),
        added + image + step(TIME) + response(responses.OnUnavailableImage(2, 4, 5, CHANNEL)) + step(TIME),
        added
        + response(responses.OnError(1, 4, "channel"))
        + response(responses.OnPublicationError(2, -1, 9, 5, 1, -1, 1, 9, bytes(16), 13, "rejected"))
        + step(TIME, b"\1"),
        added + step(CALL, b"\x10\x11\x12") + response(responses.OnOperationSuccess(6)) + step(TIME),
        step(CALL, b"\0\4\5") + response(responses.OnError(2, 1, "no")) + step(TIME, b"\xff"),
        response(responses.OnUnavailableCounter(1, 2)) + response(responses.OnClientTimeout(77)) + step(TIME),
        step(COUNTERS, (types.SYSTEM_CONTROL_PROTOCOL_VERSION).to_bytes(2, "little") + b"\1")
        + step(CALL, b"\6"),
        *(
            step(RESPONSE, type_id.to_bytes(2, "little") + message)
            for type_id, message in messages("responses")
        ),
    ]


class Hostile:
    """A driver that does what an input states, and a program with one client."""

    def __init__(self) -> None:
        self.clock = Clock.manual(now_ns=SECOND)
        number = str(next(_numbers))
        self.log = folder() / number.zfill(len(number) + -len(bytes(folder() / number)) % 4)
        self.cnc = CncFile(folder() / "cnc.dat", AtomicBuffer.allocate(LAYOUT.file_length), LAYOUT)
        self.cnc.buffer.put_i64(wire.CNC_CLIENT_LIVENESS_TIMEOUT_NS_OFFSET, 10 * SECOND)
        self.ring = ManyToOneRingBuffer(self.cnc.to_driver)
        self.ring.next_correlation_id()
        self.transmitter = BroadcastTransmitter(self.cnc.to_clients)
        self.errors: list[Exception] = []
        self.closings = self.watches = 0
        self.registrations: list[Registration[object]] = []
        settings = ClientSettings(
            aeron_dir=folder(), use_conductor_agent_invoker=True, resource_linger_duration_ns=SECOND
        )
        self.beat()
        handlers = ClientHandlers(
            on_error=self.errors.append,
            on_close=self.on_close,
            on_available_image=repr,
            on_unavailable_image=repr,
            on_publication_error=repr,
        )
        self.conductor = ClientConductor(self.cnc, settings, self.clock, handlers, None)
        self.client = Aeron(self.conductor)
        write_log(self.log)

    def on_close(self) -> None:
        self.closings += 1

    def beat(self) -> None:
        self.ring.consumer_heartbeat_ms = self.clock.epoch_ms()

    def run(self) -> None:
        """Let the driver read its commands, and the client its responses."""
        self.beat()
        self.ring.read(lambda *_: None, 100)
        self.client.do_work()

    def take(self, operation: int, data: bytes) -> None:
        if operation == CALL:
            for number in data[:16]:
                self.call(number)
        elif operation == RESPONSE:
            self.respond(int.from_bytes(data[:2], "little"), data[2:])
        elif operation == TIME:
            for number in (data or b"\0")[:8]:
                self.clock.advance(number * 10 * MS)
                self.run()
        elif operation == LOG:
            patch_log(self.log, data)
        else:
            offset, content = int.from_bytes(data[:2], "little"), data[2:]
            records = self.transmitter.capacity
            first, length = {
                RECORDS: (LAYOUT.to_clients_offset, records),
                POSITIONS: (LAYOUT.to_clients_offset + records, wire.BROADCAST_TRAILER_LENGTH),
                COUNTERS: (LAYOUT.counters_metadata_offset, LAYOUT.counters_metadata_length),
            }[operation]
            offset %= length
            self.cnc.buffer.put_bytes(first + offset, content[: length - offset])

    def respond(self, type_id: int, message: bytes) -> None:
        """Send a response."""
        message = self.with_path(message)[: self.transmitter.max_message_length]
        if type_id:
            self.transmitter.transmit(type_id, message)

    def with_path(self, message: bytes) -> bytes:
        """Return a message with the path of the log in place of the name that stands for it."""
        before, name, after = message.partition(len(LOG_PATH).to_bytes(4, "little") + LOG_PATH)
        path = bytes(self.log)
        return before + len(path).to_bytes(4, "little") + path + after if name else message

    def call(self, number: int) -> None:
        """Call a method of the program, which returns or raises a documented error."""
        resources = self.conductor.resources
        calls: tuple[Callable[[], object], ...] = (
            lambda: self.client.add_publication_async(CHANNEL, 5),
            lambda: self.client.add_exclusive_publication_async(CHANNEL, 5),
            lambda: self.client.add_subscription_async(CHANNEL, 5),
            lambda: self.client.add_counter_async(1001, b"key", "label"),
            lambda: self.client.add_static_counter_async(1001, 7, b"key", "label"),
            self.request_session_id,
            lambda: [registration.cancel() for registration in self.registrations[:1]],
            lambda: [registration.poll() for registration in self.registrations],
            lambda: [each.offer(b"message") for each in resources.publications.values()],
            lambda: [self.try_claim(each) for each in resources.publications.values()],
            lambda: [each.poll(lambda buffer, _: bytes(buffer)) for each in self.subscriptions()],
            lambda: [len(each.poll_batch(10)) for each in self.subscriptions()],
            lambda: [
                self.describe(each) for each in (*self.subscriptions(), *resources.publications.values())
            ],
            lambda: [self.watch(each) for each in (*self.subscriptions(), *resources.publications.values())],
            lambda: [(each.value, each.label) for each in resources.counters.values()],
            lambda: [each.close() for each in tuple(resources.publications.values())],
            lambda: [each.close() for each in self.subscriptions()],
            lambda: [each.close() for each in tuple(resources.counters.values())],
        )
        try:
            result = calls[number % len(calls)]()
        except AeronError as error:
            check_text(error, 1000)
            return
        if isinstance(result, Registration):
            self.registrations.append(result)

    def request_session_id(self) -> object:
        return ClientOperations(self.conductor).next_session_id(5)

    def subscriptions(self) -> tuple[Subscription, ...]:
        return tuple(self.conductor.resources.subscriptions.values())

    def try_claim(self, publication: PublicationBase) -> None:
        claim = publication.try_claim(8)
        if claim:
            claim.abort()

    def describe(self, resource: PublicationBase | Subscription) -> None:
        assert repr(resource)
        _ = resource.channel_status, resource.is_connected
        if isinstance(resource, Subscription):
            for image in resource.images:
                _ = image.position, image.is_end_of_stream, image.active_transport_count
        else:
            _ = resource.position, resource.position_limit, resource.available_window

    def watch(self, resource: PublicationBase | Subscription) -> None:
        if self.watches < MAX_WATCHES:
            self.watches += 1
            self.client.watch_peers(resource, on_added=repr, on_removed=repr, on_refused=repr)


def write_log(path: Path) -> None:
    """Create a log of a stream without messages; a sparse file, because its terms are larger than an input."""
    with path.open("xb") as file:
        file.seek(3 * TERM_LENGTH)
        file.write(log_metadata())


def patch_log(path: Path, data: bytes) -> None:
    """Change bytes of the first term, or of the metadata if the first bit of the offset is set."""
    offset, content = int.from_bytes(data[:2], "little"), data[2:]
    first, length = (0, TERM_LENGTH) if offset < IN_METADATA else (3 * TERM_LENGTH, wire.LOG_META_DATA_LENGTH)
    offset %= min(IN_METADATA, length)
    with path.open("r+b") as file:
        file.seek(first + offset)
        file.write(content[: length - offset])


def check(data: bytes) -> bool:
    hostile = Hostile()
    try:
        for operation, content in Script(data).blocks(MAX_STEPS):
            hostile.take(operation % OPERATIONS, content)
        was_open = not hostile.client.is_closed
        hostile.client.close()
        check_closed(hostile)
    finally:
        hostile.client.close()
        hostile.log.unlink()
    return was_open and not hostile.errors


def check_closed(hostile: Hostile) -> None:
    """Assert that everything is closed, and that no error is of an exception that nothing handles."""
    assert hostile.closings == 1
    assert all(registration.is_done for registration in hostile.registrations)
    resources = hostile.conductor.resources
    assert not any((resources.publications, resources.subscriptions, resources.counters))
    assert len(resources.log_buffers) == 0
    for error in hostile.errors:
        assert isinstance(error, AeronError), repr(error)
        check_text(error, 5000)
