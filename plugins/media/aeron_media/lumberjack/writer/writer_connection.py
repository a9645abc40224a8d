"""A connection of one stream to one reader: sends windows of events, receives acknowledgements.

    DOWN ──connect──► CONNECTING ──connected──► UP ──lost, overdue, wrong acknowledgement, older than ttl──► DOWN
    CONNECTING ──refused, not connected within the timeout──► DOWN
    any ──close──► DOWN

Unacknowledged events are still in the log: after a lost connection they are encoded from there again, for this or
another connection, so that each event is delivered at least once. A window takes the messages that the log has, up to
`window` events and the maximum length of the encoder; it never waits to fill up.

Invariant: an acknowledgement is accepted only after all bytes of its window were sent, with compression except the last
TRAILER_LENGTH.
Not here: the parts of the log in flight (`window_ledger`), which connections exist (`writer_stream`), when to reconnect
(`reconnect_backoff`), and the encoding of windows (`window_builder`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import connections
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_media.lumberjack._native import bounds, end_reasons, faults, phases, wire
from aeron_media.lumberjack.ack_queue import AckQueue
from aeron_media.lumberjack.codec.acks import AckParser
from aeron_media.lumberjack.codec.window_encoder import WindowEncoder
from aeron_media.lumberjack.writer.window_builder import WindowBuilder

if TYPE_CHECKING:
    from aeron_core._native.connections import ByteConnection
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.lumberjack.writer.reconnect_backoff import ReconnectBackoff
    from aeron_media.lumberjack.writer.window_ledger import WindowLedger
    from aeron_media.lumberjack.writer.writer_params import WriterParams


class WriterConnection:
    """One connection to a reader; all but the constructor runs on the sender, `close` also on the conductor.

    `owner` identifies the parts of the log that this connection sends, in the ledger.
    """

    def __init__(  # noqa: PLR0913 - connects these objects
        self,
        params: WriterParams,
        host: RemoteHost,
        connection: ByteConnection,
        backoff: ReconnectBackoff,
        ledger: WindowLedger,
        owner: int,
    ) -> None:
        self._connection = connection
        self.host = host
        self._backoff = backoff
        self._ledger = ledger
        self._owner = owner
        self._counters = params.counters
        self._ends = params.ends
        self._encoder = WindowEncoder(params.encoder, params.budget)
        self._acks = AckParser()
        self._unacknowledged = AckQueue()
        self._windows = WindowBuilder(params, self._encoder, host, ledger)
        self._byte_ends = AtomicBuffer.allocate(bounds.MAX_QUEUED_ACKS * 8)
        self._input = AtomicBuffer.allocate(bounds.ACKS_LENGTH)
        self._input_length = 0
        self._trailer_length = bounds.TRAILER_LENGTH if params.encoder.compression > 0 else 0
        self._pipeline = params.pipeline
        self._is_balanced = params.balances
        self._timeout_ns = params.timeout_ns
        self._progress_timeout_ns = params.progress_timeout_ns
        self._ttl_ns = params.ttl_ns
        self.phase = phases.PHASE_DOWN
        self._begin_to_count()
        self.number = 0
        self.has_ended = False
        self._has_requested_address = False
        self._has_reported_stall = False
        self._next_read_ns = 0
        self._now_ns = 0

    def work(self, now_ns: int) -> int:
        """Connect if the backoff permits it, read acknowledgements and check deadlines; return 0."""
        self._now_ns = now_ns
        if self.phase != phases.PHASE_UP:
            self._connect(now_ns)
        if self.phase == phases.PHASE_UP:
            self._read_acks(now_ns)
        if self.phase == phases.PHASE_UP:
            self._check_deadlines(now_ns)
        return 0

    def may_send(self) -> bool:
        """Return whether this connection may take another window: it is up, not too old, and within the pipeline.

        False also for a short time after a window ran out of memory.
        """
        return (
            self.phase == phases.PHASE_UP
            and self._unacknowledged.size < self._pipeline
            and self._now_ns >= self._windows.next_ns
            and not self._is_old(self._now_ns)
        )

    def flush(self) -> int:
        """Send as much of the encoded windows as the socket accepts, if the connection is up; return 0."""
        return self._send(self._now_ns) if self.phase == phases.PHASE_UP else 0

    def close(self) -> int:
        """Close the connection and free its memory; return 0."""
        if self.phase == phases.PHASE_UP:
            self._counters.connected.get_and_add(-1)
        self.phase = phases.PHASE_DOWN
        self._connection.close(False)
        self._forget()
        self._encoder.release()
        return 0

    # Connecting to the reader, and losing it

    def _connect(self, now_ns: int) -> int:
        if self.phase == phases.PHASE_DOWN:
            if not self._backoff.may_try(now_ns):
                return 0
            if not self.host.refresh():
                # No address: the name resolver reports the reason. Try the next reader, if any.
                self.has_ended = True
                return 0 if self._is_balanced else self._backoff.on_lost(now_ns)
            self._counters.attempts.increment_release()
            if self._connection.connect(self.host.address) == connections.CONNECTION_FAILED:
                return self._on_connection_lost(0, 0, 0, now_ns)
            self.phase = phases.PHASE_CONNECTING
            self._phase_ns = now_ns
        result = self._connection.is_connected()
        if result == connections.CONNECTION_FAILED:
            return self._on_connection_lost(0, 0, 0, now_ns)
        if result == connections.CONNECTION_CONNECTED:
            self._begin_to_count()
            self.number += 1
            self.phase = phases.PHASE_UP
            self._phase_ns = now_ns
            self._last_activity_ns = now_ns
            self._note_progress(0)
            self._has_requested_address = False
            self._counters.connected.get_and_add(1)
        elif now_ns - self._phase_ns > self._timeout_ns:
            return self._on_connection_lost(end_reasons.NOT_CONNECTED, 0, 0, now_ns)
        return 0

    def _begin_to_count(self) -> int:
        self.windows = 0
        self.events = 0
        self.bytes_sent = 0
        self.acks = 0
        self.keep_alives = 0
        self.acknowledged = 0
        return 0

    def _on_connection_lost(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """Close a failed connection; the next one resends what was not acknowledged. Return 0."""
        self._ends.keep(reason, value, limit, self._connection.error_code, self.host.address)
        self._counters.lost.increment_release()
        self._disconnect()
        # A replacement of the reader can have another address.
        self.host.request_address()
        return self._backoff.on_lost(now_ns)

    def _disconnect(self) -> int:
        if self.phase == phases.PHASE_UP:
            self._counters.connected.get_and_add(-1)
            self._counters.resends.get_and_add(self._unacknowledged.size)
        self.phase = phases.PHASE_DOWN
        self.has_ended = True
        self._connection.close(False)
        self._ledger.give_back(self._owner)
        return self._forget()

    def _forget(self) -> int:
        self._encoder.reset()
        self._unacknowledged.clear()
        self._acks.reset()
        self._input_length = 0
        return 0

    def _check_deadlines(self, now_ns: int) -> int:
        if (
            self._ttl_ns > 0
            and not self._has_requested_address
            and now_ns - self._phase_ns > self._ttl_ns >> 1
        ):
            # Resolve the name early, so that the address is known when the connection expires.
            self._has_requested_address = True
            self.host.request_address()
        if self._unacknowledged.size > 0:
            if now_ns - self._last_activity_ns > self._timeout_ns:
                return self._on_connection_lost(
                    end_reasons.NOT_ACKNOWLEDGED, self._unacknowledged.size, 0, now_ns
                )
            return self._check_progress(now_ns)
        if (
            self._windows.holds_memory
            and self._encoder.ready == 0
            and now_ns - self._last_activity_ns > bounds.IDLE_MEMORY_NS
        ):
            # Other streams share the memory budget, so this stream frees what it does not use.
            self._windows.release_memory()
        if self._is_old(now_ns):
            # Nothing is unacknowledged: the next connection continues where this one ends.
            self._disconnect()
        return 0

    def _check_progress(self, now_ns: int) -> int:
        """End a connection without acknowledged events for progress-timeout=; report one after STALL_NS, once.

        Return 0.
        """
        quiet_ns = now_ns - self._progress_ns
        if 0 < self._progress_timeout_ns < quiet_ns:
            return self._on_connection_lost(end_reasons.NO_PROGRESS, self._unacknowledged.size, 0, now_ns)
        if quiet_ns > bounds.STALL_NS and not self._has_reported_stall:
            self._has_reported_stall = (
                self._ends.keep(end_reasons.STALLED, self._unacknowledged.size, 0, 0, self.host.address) != 0
            )
        return 0

    def _note_progress(self, sequence: int) -> int:
        """Record that `sequence` events of the oldest window are acknowledged; return 0."""
        self._part = sequence
        self._progress_ns = self._now_ns
        self._has_reported_stall = False
        return 0

    def _is_old(self, now_ns: int) -> bool:
        return self._ttl_ns > 0 and now_ns - self._phase_ns > self._ttl_ns

    # Acknowledgements from the reader

    def _read_acks(self, now_ns: int) -> int:
        if self._unacknowledged.size == 0 and now_ns < self._next_read_ns:
            return 0
        self._next_read_ns = now_ns + bounds.ACK_INTERVAL_NS
        received = self._connection.receive(
            self._input, self._input_length, bounds.ACKS_LENGTH - self._input_length
        )
        if received == connections.CONNECTION_ENDED:
            return self._on_connection_lost(end_reasons.CLOSED, self._unacknowledged.size, 0, now_ns)
        if received == connections.CONNECTION_FAILED:
            return self._on_connection_lost(0, 0, 0, now_ns)
        if received > 0:
            self._last_activity_ns = now_ns
            self._input_length += received
            self._parse_acks(now_ns)
        return 0

    def _parse_acks(self, now_ns: int) -> int:
        offset = 0
        while self.phase == phases.PHASE_UP:
            used = self._acks.parse(self._input, offset, self._input_length - offset)
            if self._acks.fault != faults.NO_FAULT:
                return self._on_connection_lost(self._acks.fault, self._acks.fault_value, 0, now_ns)
            if used == 0:
                break
            offset += used
            self._on_ack(now_ns)
        if self.phase == phases.PHASE_UP:
            self._input_length -= offset
            self._input.copy_from(0, self._input, offset, self._input_length)
        return 0

    def _on_ack(self, now_ns: int) -> int:
        sequence = self._acks.sequence
        if sequence == 0:
            self._counters.keep_alives.increment_release()
            self.keep_alives += 1
            return 0
        count = self._unacknowledged.sequence() if self._unacknowledged.size > 0 else 0
        if sequence > count or self._acks.version != wire.VERSION_2:
            return self._on_connection_lost(end_reasons.WRONG_ACK, sequence, count, now_ns)
        if sequence == count and not self._is_oldest_sent():
            # Accepting it would release events that the reader cannot have.
            return self._on_connection_lost(end_reasons.UNSENT_ACK, sequence, count, now_ns)
        if sequence > self._part:
            self._note_progress(sequence)
        if sequence == count:
            self._part = 0
            self._ledger.complete(self._unacknowledged.position())
            self.acknowledged = self._unacknowledged.total()
            self._unacknowledged.pop()
            self._backoff.on_acknowledged()
            self._counters.acks.increment_release()
            self.acks += 1
        return 0

    def _is_oldest_sent(self) -> bool:
        """Return whether the oldest unacknowledged window is sent, except for bytes without which a reader has it."""
        number = self.windows - self._unacknowledged.size + 1
        end = self._byte_ends.get_i64(number % bounds.MAX_QUEUED_ACKS * 8)
        return self.bytes_sent >= end - self._trailer_length

    # Windows

    def build_window(self, log: LogBuffer) -> bool:
        """Encode the next window, for `flush` to send; return False if none could be built."""
        count = self._windows.build(log, self._now_ns)
        if count == 0:
            return False
        end = self._windows.end
        if self._unacknowledged.size == 0:
            # This is the only unacknowledged window: its timeouts start now.
            self._last_activity_ns = self._now_ns
            self._note_progress(0)
        self._ledger.take(end, self._owner)
        self.windows += 1
        self.events += count
        self._unacknowledged.push(wire.VERSION_2, count, end, self.events)
        self._byte_ends.put_i64(
            self.windows % bounds.MAX_QUEUED_ACKS * 8, self.bytes_sent + self._encoder.ready
        )
        self._counters.windows.increment_release()
        self._counters.events.get_and_add(count)
        return True

    def _send(self, now_ns: int) -> int:
        while self._encoder.ready > 0:
            sent = self._connection.send(
                self._encoder.block.buffer, self._encoder.block.start, self._encoder.ready
            )
            if sent == connections.CONNECTION_FAILED:
                return self._on_connection_lost(0, 0, 0, now_ns)
            if sent == 0:
                return 0
            # A slow connection is not a silent reader: the timeout starts again whenever the socket accepts bytes.
            self._last_activity_ns = now_ns
            self._counters.bytes_sent.get_and_add(sent)
            self.bytes_sent += sent
            self._encoder.consume(sent)
        return 0
