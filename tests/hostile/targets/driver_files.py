"""The directory of a driver, whose files any process may write: tools and clients read it, or refuse it.

An input is changes of the files of a sound directory: the number of a part, and a block of an offset in it, two bytes,
and the bytes there. The offset in CUT is the new length of `cnc.dat` in bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core.cli.dashboard.documents import MAX_LENGTH
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.cli.dashboard.view import Reading, document_of
from aeron_core.cli.tools.backlog import backlog
from aeron_core.cli.tools.error_log import errors
from aeron_core.cli.tools.loss import loss
from aeron_core.cli.tools.stat import CounterFormat, stat
from aeron_core.cli.tools.streams import streams
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.client.aeron import Aeron
from aeron_core.client.connecting import connect
from aeron_core.client.handlers import ClientHandlers
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.concurrent.counters import CountersManager
from aeron_core.concurrent.error_log import DistinctErrorLog, read_errors
from aeron_core.concurrent.loss_report import LOSS_REPORT_FILE, read_loss_report
from aeron_core.concurrent.loss_writer import LossReport
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import AeronError
from aeron_core.observation import (
    DriverObserver,
    DriverSnapshot,
    fields_of,
    find_drivers,
    limitations,
    rates_between,
)
from aeron_core.observation.driver_files import DriverFiles, open_loss_report
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout
from aeron_core.settings.models import ClientSettings
from targets._script import Script, block
from targets._simulations import folder_in_memory
from targets._texts import check_text

HEADER, COMMANDS, RESPONSES, METADATA, VALUES, ERRORS, LOSSES, CUT = range(8)
PARTS = 8
MAX_CHANGES = 16
COUNTERS = 48
LAYOUT = CncLayout.of(
    to_driver_length=1024 + wire.RING_TRAILER_LENGTH,
    to_clients_length=1024 + wire.BROADCAST_TRAILER_LENGTH,
    counters_values_length=COUNTERS * wire.COUNTER_VALUE_LENGTH,
    error_log_length=1024,
    page_size=4096,
)
#: Offsets in `cnc.dat`; the records of the rings are left out: the targets ring and client have them.
OFFSETS = {
    HEADER: 0,
    COMMANDS: LAYOUT.to_clients_offset - wire.RING_TRAILER_LENGTH,
    RESPONSES: LAYOUT.counters_metadata_offset - wire.BROADCAST_TRAILER_LENGTH,
    METADATA: LAYOUT.counters_metadata_offset,
    VALUES: LAYOUT.counters_values_offset,
    ERRORS: LAYOUT.error_log_offset,
}
LOSSES_LENGTH = 1024
NOW_MS = 1_700_000_000_000
TIMEOUT_MS = 20
CHANNEL = "aeron:udp?endpoint=127.0.0.1:20121"
#: Of what a command prints, per byte of the files: a byte that is not UTF-8 becomes a character of three bytes.
MAX_GROWTH = 8


@dataclass(frozen=True)
class Sound:
    """The contents of the files of a driver with a stream, an error and a loss."""

    cnc: bytes
    losses: bytes


@cache
def sound() -> Sound:
    clock = Clock.manual(now_ns=1, epoch_ms=NOW_MS)
    with folder_in_memory() as folder:
        cnc = CncFile.create(
            folder / CNC_FILE, LAYOUT, client_liveness_timeout_ns=10**10, start_timestamp_ms=NOW_MS, pid=1
        )
        counters = CountersManager(cnc.counters_metadata, cnc.counters_values, clock, 0)
        # Few counters: their number determines the time that an input takes.
        counters.allocate(types.SYSTEM, "Bytes sent", owner_id=types.DRIVER_OWNER_ID)
        counters.allocate(types.MEDIA, "sp-refused: 1", owner_id=types.DRIVER_OWNER_ID)
        sent, received = CounterOwner(7, 1, 2, CHANNEL), CounterOwner(8, 1, 2, CHANNEL)
        for type_id, owner in (
            (types.PUBLISHER_POSITION, sent),
            (types.SENDER_POSITION, sent),
            (types.RECEIVER_HWM, received),
            (types.SUBSCRIBER_POSITION, received),
        ):
            counters.allocate(type_id, owner.label("position"), owner.key(), registration_id=7)
        DistinctErrorLog(cnc.error_log, clock).record(11, "an error", "127.0.0.1:1")
        ring = ManyToOneRingBuffer(cnc.to_driver)
        ring.next_correlation_id()
        ring.consumer_heartbeat_ms = NOW_MS
        cnc.publish()
        report = AtomicBuffer.allocate(LOSSES_LENGTH)
        LossReport(report).prepare(session_id=1, stream_id=2, channel=CHANNEL, source="a").record(64, NOW_MS)
        return Sound(cnc.buffer.get_bytes(0, LAYOUT.file_length), report.get_bytes(0, LOSSES_LENGTH))


def change(part: int, offset: int, data: bytes) -> bytes:
    return block(offset.to_bytes(2, "little") + data, part)


def seeds() -> list[bytes]:
    counter = 2 * wire.COUNTER_METADATA_LENGTH
    version = types.SYSTEM_CONTROL_PROTOCOL_VERSION
    return [
        b"",
        change(HEADER, wire.CNC_COUNTERS_VALUES_LENGTH_OFFSET, (128).to_bytes(4, "little")),
        change(HEADER, wire.CNC_FILE_PAGE_SIZE_OFFSET, bytes(4)),
        change(METADATA, counter + wire.COUNTER_LABEL_LENGTH_OFFSET, b"\xff\xff\xff\x7f\xff\n\x1b[2J"),
        change(METADATA, counter + wire.COUNTER_KEY_OFFSET, b"\xff" * 20),
        change(VALUES, 0, b"\xff" * 16),
        change(ERRORS, wire.ERROR_LOG_OBSERVATION_COUNT_OFFSET, b"\xff" * 4),
        change(LOSSES, wire.LOSS_TOTAL_BYTES_OFFSET, b"\xff" * 8),
        change(VALUES, version * wire.COUNTER_VALUE_LENGTH, b"\xff\xff\x7f")
        + change(METADATA, version * wire.COUNTER_METADATA_LENGTH, b"\1"),
        change(COMMANDS, wire.RING_CORRELATION_COUNTER_OFFSET, b"\xff" * 8),
        # As long as a record, so that a fuzzer begins with inputs of this length.
        change(METADATA, counter, sound().cnc[OFFSETS[METADATA] :][: wire.COUNTER_METADATA_LENGTH])
        + change(ERRORS, 0, sound().cnc[OFFSETS[ERRORS] :][:128])
        + change(LOSSES, 0, sound().losses[:128]),
    ]


def files_of(data: bytes) -> tuple[bytes, bytes]:
    """Return the contents of `cnc.dat` and of the loss report with the changes of an input."""
    cnc, losses = bytearray(sound().cnc), bytearray(sound().losses)
    length = len(cnc)
    for number, content in Script(data).blocks(MAX_CHANGES):
        part = number % PARTS
        offset, bytes_ = int.from_bytes(content[:2], "little"), content[2:]
        if part == CUT:
            length = offset
        elif part == LOSSES:
            offset %= len(losses)
            losses[offset : offset + len(bytes_)] = bytes_
        else:
            offset += OFFSETS[part]
            cnc[offset : offset + len(bytes_)] = bytes_
    return bytes(cnc[:length]), bytes(losses)


def check(data: bytes) -> bool:
    cnc, losses = files_of(data)
    with folder_in_memory() as folder:
        (folder / CNC_FILE).write_bytes(cnc)
        (folder / LOSS_REPORT_FILE).write_bytes(losses)
        limit = MAX_GROWTH * (len(cnc) + len(losses)) + 10_000
        accepted = [check_command(partial(command, folder), limit) for command in TEXT_TOOLS]
        accepted += [check_json(partial(command, folder, json=True), limit) for command in TOOLS]
        check_records(folder)
        check_client(folder)
        return all(accepted)


TOOLS: tuple[Callable[..., None], ...] = (stat, errors, loss, streams, backlog)
TEXT_TOOLS = (*TOOLS, partial(stat, output=CounterFormat.PROMETHEUS))


def printed(command: Callable[[], None], limit: int) -> str | None:
    """Return what a command prints; None if it fails with an error that the command line reports in one line."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        try:
            command()
        except AeronError as error:
            check_text(error, 500)
            return None
    assert len(out.getvalue()) <= limit
    out.getvalue().encode()
    return out.getvalue()


def check_command(command: Callable[[], None], limit: int) -> bool:
    return printed(command, limit) is not None


def check_json(command: Callable[[], None], limit: int) -> bool:
    text = printed(command, limit)
    if text is not None:
        json.loads(text)
    return text is not None


def check_records(folder: Path) -> None:
    """Read each file with the limits of its records: no entry is longer than its file, and each has a length."""
    with contextlib.suppress(AeronError):
        report = open_loss_report(folder)
        assert sum(1 for _ in read_loss_report(report)) <= report.capacity // wire.LOSS_ENTRY_ALIGNMENT
    with contextlib.suppress(AeronError):
        files = DriverFiles.open(folder)
        log = files.cnc.error_log
        assert files.system_counter(types.SYSTEM_CONTROL_PROTOCOL_VERSION) is not None
        assert len(list(files.counters)) <= files.counters.max_counter_id + 1
        assert sum(1 for _ in read_errors(log)) <= log.capacity // wire.ERROR_LOG_HEADER_LENGTH
    check_observation(folder)


def check_observation(folder: Path) -> None:
    """Take two snapshots: whatever the counters contain, streams, rates and limits follow from them."""
    observer = DriverObserver(folder)
    (state,) = find_drivers([folder], defaults=False)
    try:
        first, second = observer.snapshot(), observer.snapshot()
    except AeronError as error:
        check_text(error, 500)
        assert state.problem
        return
    rates_between(first, second)
    logs = sum(len(stream.publications) + len(stream.images) for stream in second.streams)
    found = limitations(second, first)
    assert len(found) == logs
    for limitation in found:
        limitation.sentence.encode(errors="replace")
    for client in second.clients.values():
        assert client.pid is None or client.pid < 10**10
    for record in second.counters:
        fields_of(record)
    check_dashboard(first, second)


def check_dashboard(first: DriverSnapshot, second: DriverSnapshot) -> None:
    """Show two snapshots on the page of the dashboard: its content is JSON of bounded size."""
    trends = Trends(2)
    for before, now in ((None, first), (first, second)):
        moment = Moment(now.time_ns, (ObservedDriver(now.driver, DriverStatus.ALIVE, now, before),))
        trends.add(moment)
        text = json.dumps(document_of(Reading(moment), trends, ALL), allow_nan=False)
        # A few texts of each counter, which has a row, two nodes of the map and an error at most.
        assert len(text) <= 20_000 + (len(now.counters) + len(now.errors)) * 20 * 6 * MAX_LENGTH


def check_client(folder: Path) -> None:
    """Connect a client, which writes to the files too, and let it end with documented errors only."""
    found: list[Exception] = []
    clock = Clock.manual(now_ns=1, epoch_ms=NOW_MS)
    settings = ClientSettings(driver_timeout_ms=TIMEOUT_MS, keepalive_interval_ns=10**6)
    try:
        client = connect(
            folder,
            settings,
            clock=clock,
            handlers=ClientHandlers(on_error=found.append),
            use_conductor_invoker=True,
            driver_invoker=lambda: clock.advance(TIMEOUT_MS * 10**6),
        )
    except AeronError as error:
        check_text(error, 500)
        return
    with client:
        check_calls(client)
    assert [error for error in found if not isinstance(error, AeronError)] == []


def check_calls(client: Aeron) -> None:
    for call in (
        client.do_work,
        partial(client.add_counter_async, 1001, label="of a client"),
        client.do_work,
        partial(client.next_session_id, 1),
        client.do_work,
    ):
        try:
            call()
        except AeronError as error:
            check_text(error, 500)
