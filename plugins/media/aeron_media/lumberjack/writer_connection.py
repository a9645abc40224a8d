"""The connection of one stream to a reader: windows of events out, acknowledgements in.

    DOWN ──time has come──► CONNECTING ──► UP ──lost, refused, overdue──► DOWN

    log: confirmed ────── windows that are owed ────── sent ────── what publishers have offered

What was not acknowledged is still in the log: after a lost connection it is encoded from there again, so that each
event is delivered at least once. A window is what the log holds, up to `window` events; nothing is waited for to fill
it. Between attempts passes a time that doubles up to `backoff-max`, of which half is left to chance, until a window has
been acknowledged.

Not here: the encoding (`window_encoder`), and the log's life.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from aeron_core._native import positions, streams
from aeron_core._native import wire as aeron_wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_media.lumberjack._native import ends, faults, wire
from aeron_media.lumberjack.ack_queue import AckQueue
from aeron_media.lumberjack.acks import AckParser
from aeron_media.lumberjack.window_encoder import WindowEncoder

if TYPE_CHECKING:
    from aeron_core._native.streams import ByteStream
    from aeron_media.lumberjack.writer_params import WriterParams


class WriterConnection:
    """One stream on its way; all but the constructor runs on the sender."""

    def __init__(self, params: WriterParams, stream: ByteStream) -> None:
        self._stream = stream
        self._counters = params.counters
        self._ends = params.ends
        self.remote = SocketAddress()
        self.remote.assign(params.remote)
        self._encoder = WindowEncoder(params.encoder, params.budget)
        self._acks = AckParser()
        self._owed = AckQueue()
        self._input = AtomicBuffer.allocate(ends.ACKS_LENGTH)
        self._input_length = 0
        self._window = params.window
        self._pipeline = params.pipeline
        self._timeout_ns = params.timeout_ns
        self._backoff_init_ns = params.backoff_init_ns
        self._backoff_max_ns = params.backoff_max_ns
        self._backoff_ns = params.backoff_init_ns
        self._ttl_ns = params.ttl_ns
        self._chance = random.getrandbits(31)
        self.phase = ends.PHASE_DOWN
        self._retry_ns = 0
        self._next_look_ns = 0
        self._lost_ns = 0
        self._has_been_up = False
        self._now_ns = 0

    def has_peer(self) -> bool:
        """Return whether there is a reader, or was one a moment ago."""
        if self.phase == ends.PHASE_UP:
            return True
        return self._has_been_up and self._now_ns - self._lost_ns < ends.PEER_GRACE_NS

    def advance(self, log: LogBuffer, position: int, now_ns: int) -> int:
        """See `SendChannelEndpoint.advance`."""
        self._now_ns = now_ns
        self._confirmed = position
        if self.phase != ends.PHASE_UP:
            self._go_up(now_ns)
            if self.phase != ends.PHASE_UP:
                return position
        self._read_acks(now_ns)
        if self.phase == ends.PHASE_UP:
            self._fill(log)
            self._send(now_ns)
        if self.phase == ends.PHASE_UP:
            self._look_at_clock(now_ns)
        return self._confirmed

    def close(self) -> int:
        """Give the connection up, and what it holds; return 0."""
        if self.phase == ends.PHASE_UP:
            self._counters.connected.get_and_add(-1)
        self.phase = ends.PHASE_DOWN
        self._stream.close(False)
        self._forget()
        self._encoder.release()
        return 0

    # The connection

    def _go_up(self, now_ns: int) -> int:
        if self.phase == ends.PHASE_DOWN:
            if now_ns < self._retry_ns:
                return 0
            self._counters.attempts.increment_release()
            if self._stream.connect(self.remote) == streams.STREAM_FAILED:
                return self._lose(0, 0, 0, now_ns)
            self.phase = ends.PHASE_CONNECTING
            self._phase_ns = now_ns
        result = self._stream.is_connected()
        if result == streams.STREAM_FAILED:
            return self._lose(0, 0, 0, now_ns)
        if result == streams.STREAM_CONNECTED:
            self.phase = ends.PHASE_UP
            self._phase_ns = now_ns
            self._heard_ns = now_ns
            self._has_been_up = True
            self._sent_position = self._confirmed
            self._counters.connected.get_and_add(1)
        elif now_ns - self._phase_ns > self._timeout_ns:
            return self._lose(ends.NOT_CONNECTED, 0, 0, now_ns)
        return 0

    def _lose(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """Give the connection up; what was not acknowledged is sent again over the next. Return 0."""
        self._ends.keep(reason, value, limit, self._stream.error_code, self.remote)
        self._counters.lost.increment_release()
        self._go_down(now_ns)
        # Half of the time is left to chance, lest all who lost one reader come back at once. Source: C11, 7.22.2.
        self._chance = (self._chance * 1103515245 + 12345) & 0x7FFFFFFF
        half = self._backoff_ns >> 1
        self._retry_ns = now_ns + half + ((half >> 10) * (self._chance >> 8) >> 13)
        self._backoff_ns = min(self._backoff_ns * 2, self._backoff_max_ns)
        return 0

    def _go_down(self, now_ns: int) -> int:
        if self.phase == ends.PHASE_UP:
            self._counters.connected.get_and_add(-1)
            self._counters.resends.get_and_add(self._owed.size)
            self._lost_ns = now_ns
        self.phase = ends.PHASE_DOWN
        self._stream.close(False)
        self._forget()
        self._retry_ns = now_ns
        return 0

    def _forget(self) -> int:
        self._encoder.reset()
        self._owed.clear()
        self._input_length = 0
        return 0

    def _look_at_clock(self, now_ns: int) -> int:
        if self._owed.size > 0:
            if now_ns - self._heard_ns > self._timeout_ns:
                return self._lose(ends.NOT_ACKNOWLEDGED, self._owed.size, 0, now_ns)
            return 0
        self._heard_ns = now_ns
        if self._is_old(now_ns):
            # Nothing is owed: the next connection goes on where this one has ended.
            self._go_down(now_ns)
        return 0

    def _is_old(self, now_ns: int) -> bool:
        return self._ttl_ns > 0 and now_ns - self._phase_ns > self._ttl_ns

    # Acknowledgements

    def _read_acks(self, now_ns: int) -> int:
        if self._owed.size == 0 and now_ns < self._next_look_ns:
            return 0
        self._next_look_ns = now_ns + ends.ACK_INTERVAL_NS
        received = self._stream.receive(
            self._input, self._input_length, ends.ACKS_LENGTH - self._input_length
        )
        if received == streams.STREAM_ENDED:
            return self._lose(ends.CLOSED, self._owed.size, 0, now_ns)
        if received == streams.STREAM_FAILED:
            return self._lose(0, 0, 0, now_ns)
        if received > 0:
            self._heard_ns = now_ns
            self._input_length += received
            self._parse_acks(now_ns)
        return 0

    def _parse_acks(self, now_ns: int) -> int:
        offset = 0
        while self.phase == ends.PHASE_UP:
            used = self._acks.parse(self._input, offset, self._input_length - offset)
            if self._acks.fault != faults.NO_FAULT:
                return self._lose(self._acks.fault, self._acks.fault_value, 0, now_ns)
            if used == 0:
                break
            offset += used
            self._on_ack(now_ns)
        if self.phase == ends.PHASE_UP:
            self._input_length -= offset
            self._input.copy_from(0, self._input, offset, self._input_length)
        return 0

    def _on_ack(self, now_ns: int) -> int:
        sequence = self._acks.sequence
        if sequence == 0:
            self._counters.keep_alives.increment_release()
            return 0
        count = self._owed.sequence() if self._owed.size > 0 else 0
        if sequence > count or self._acks.version != wire.VERSION_2:
            return self._lose(ends.WRONG_ACK, sequence, count, now_ns)
        if sequence == count:
            self._confirmed = self._owed.position()
            self._owed.pop()
            self._backoff_ns = self._backoff_init_ns
            self._counters.acks.increment_release()
        return 0

    # Windows

    def _fill(self, log: LogBuffer) -> int:
        if self._is_old(self._now_ns):
            return 0
        while self._owed.size < self._pipeline and self._build_window(log):
            pass
        if self.phase == ends.PHASE_UP and self._owed.size == 0:
            # What was passed over is done with, padding above all.
            self._confirmed = self._sent_position
        return 0

    def _build_window(self, log: LogBuffer) -> bool:
        """Encode what the log holds; return whether that was a window."""
        position = self._sent_position
        while not self._encoder.is_open or self._encoder.count < self._window:
            step = self._add_message(log, position)
            if step <= 0:
                break
            position += step
        self._sent_position = position
        if not self._encoder.is_open or self._encoder.count == 0:
            return False
        count = self._encoder.count
        if self._encoder.finish() < 0:
            self._lose(
                self._encoder.fault, self._encoder.fault_value, self._encoder.fault_limit, self._now_ns
            )
            return False
        if self._owed.size == 0:
            # Nothing was owed until now: its time begins.
            self._heard_ns = self._now_ns
        self._owed.push(wire.VERSION_2, count, position)
        self._counters.windows.increment_release()
        self._counters.events.get_and_add(count)
        return True

    def _add_message(self, log: LogBuffer, position: int) -> int:
        """Add the message at `position`; return its bytes in the log, 0 where none is there, WINDOW_FULL."""
        offset = log.frame_offset(position)
        length = log.buffer.get_i32_acquire(offset)
        if length <= 0:
            return ends.UNFINISHED_MESSAGE
        aligned = positions.align_frame(length)
        flags = log.buffer.get_u8(offset + aeron_wire.FRAME_FLAGS_OFFSET)
        if log.buffer.get_u16(offset + aeron_wire.FRAME_TYPE_OFFSET) != aeron_wire.TYPE_DATA:
            return aligned
        if flags & aeron_wire.DATA_FLAG_BEGIN == 0:
            # The rest of a message that nobody has seen the beginning of.
            return aligned
        if flags & aeron_wire.DATA_FLAG_END:
            answer = self._encoder.add(
                log.buffer, offset + aeron_wire.DATA_HEADER_LENGTH, length - aeron_wire.DATA_HEADER_LENGTH
            )
            return self._outcome(answer, aligned)
        return self._add_fragments(log, offset)

    def _add_fragments(self, log: LogBuffer, start: int) -> int:
        # All of them are in one term.
        offset = start
        payload_length = 0
        while True:
            length = log.buffer.get_i32_acquire(offset)
            if length <= 0:
                return ends.UNFINISHED_MESSAGE
            payload_length += length - aeron_wire.DATA_HEADER_LENGTH
            flags = log.buffer.get_u8(offset + aeron_wire.FRAME_FLAGS_OFFSET)
            offset += positions.align_frame(length)
            if flags & aeron_wire.DATA_FLAG_END:
                break
        end = offset
        answer = self._encoder.begin_event(payload_length)
        offset = start
        while answer > 0 and offset < end:
            length = log.buffer.get_i32(offset)
            answer = self._encoder.add_piece(
                log.buffer, offset + aeron_wire.DATA_HEADER_LENGTH, length - aeron_wire.DATA_HEADER_LENGTH
            )
            offset += positions.align_frame(length)
        if answer > 0:
            answer = self._encoder.end_event()
        return self._outcome(answer, end - start)

    def _outcome(self, answer: int, length: int) -> int:
        if answer > 0:
            return length
        if answer == 0:
            return ends.WINDOW_FULL
        if answer in (faults.NO_JSON_OBJECT, faults.EVENT_TOO_LONG):
            self._ends.keep(answer, self._encoder.fault_value, self._encoder.fault_limit, 0, self.remote)
            self._counters.passed_over.increment_release()
            return length
        self._lose(answer, self._encoder.fault_value, self._encoder.fault_limit, self._now_ns)
        return ends.UNFINISHED_MESSAGE

    def _send(self, now_ns: int) -> int:
        while self._encoder.ready > 0:
            sent = self._stream.send(
                self._encoder.block.buffer, self._encoder.block.start, self._encoder.ready
            )
            if sent == streams.STREAM_FAILED:
                return self._lose(0, 0, 0, now_ns)
            if sent == 0:
                return 0
            self._counters.bytes_sent.get_and_add(sent)
            self._encoder.consume(sent)
        return 0
