"""A writer's connection: events are published to images, acknowledgements follow as subscribers consume them.

    FREE ──accepted──► OPEN ──first bytes──► FED ──end, fault, silence──► ENDING ──all acknowledged──► LINGERING
    OPEN ──end, idle──► LINGERING
    LINGERING ──closed by the peer, LINGER_NS or LINGER_LENGTH exceeded──► FREE
    any ──broken, abandoned, evicted──► FREE

The acknowledgement of a window (`received_windows`) is sent when all subscribers have consumed its last event, or when
that was published, with `ack=received`.

A connection is idle while no complete event arrives; windows without events and parts of events do not count.

Back pressure: while an image or the queue of acknowledgements has no space, or memory is exhausted, the socket is not
read.

Invariant: an event is acknowledged only after all subscribers have consumed it, or with `ack=received` after it is in
their images.

Not here: frames (`frame_parser`), windows (`received_windows`), and the set of connections (`receive_endpoint`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aeron_core._native import connections
from aeron_core._native import wire as aeron_wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue
from aeron_media.connections.image_feed import ImageFeed
from aeron_media.lumberjack._native import bounds, end_reasons, faults, phases, wire
from aeron_media.lumberjack.codec.event_sink import EventSink
from aeron_media.lumberjack.codec.frame_parser import FrameParser
from aeron_media.lumberjack.reader.ack_output import AckOutput
from aeron_media.lumberjack.reader.received_windows import ReceivedWindows

if TYPE_CHECKING:
    from aeron_core._native.connections import ByteConnection
    from aeron_media.lumberjack.reader.reader_params import ReaderParams


class ReaderConnection(EventSink):
    """A reusable slot for one connection; all but the constructor and `unbind` runs on the receiver."""

    def __init__(self, params: ReaderParams, connection: ByteConnection, feed: ImageFeed) -> None:
        self.connection = connection
        self.feed = feed
        self.peer = SocketAddress()
        self._counters = params.counters
        self._is_acked_when_received = params.is_acked_when_received
        self._ack_partial = params.ack_partial
        self._keep_alive_ns = params.keep_alive_ns
        self._keeps_v1_alive = params.keeps_v1_alive
        self._window_timeout_ns = params.window_timeout_ns
        self._idle_timeout_ns = params.idle_timeout_ns
        self._write_timeout_ns = params.write_timeout_ns
        self._budget = params.budget
        self._input = ByteQueue(params.budget, params.max_input_length)
        limits = replace(
            params.limits, max_event_length=min(params.limits.max_event_length, feed.max_message_length)
        )
        self._parser = FrameParser(limits, self, params.budget)
        self._windows = ReceivedWindows(params.max_window)
        self._acks = self._windows.acks
        self._output = AckOutput()
        self.phase = phases.PHASE_FREE
        self.is_watched = False
        self.is_readable = True

    def unbind(self) -> None:
        """Release the endpoint and what refers to this slot, so that its memory is freed with the endpoint.

        Runs on the conductor, after the receiver has released the endpoint.
        """
        self.feed.unbind()
        self._parser.unbind()

    def begin(self, session_id: int, now_ns: int) -> int:
        """Start with the connection from `peer` that the listener accepted into `connection`; return 0."""
        self.phase = phases.PHASE_OPEN
        self.session_id = session_id
        self.end_reason = 0
        self.end_value = 0
        self.end_limit = 0
        self._parser.reset()
        self._windows.clear()
        self._output.clear()
        self.is_readable = True
        self._now_ns = now_ns
        self._progress_ns = now_ns
        self._last_event_ns = now_ns
        self._read_length = bounds.READ_LENGTH
        self._last_ack_ns = now_ns
        self._phase_ns = now_ns
        self.bytes_inflated = 0
        self._events = 0
        self.windows = 0
        self.events = 0
        self.bytes_received = 0
        self.acks = 0
        self.keep_alives = 0
        self.acknowledged = 0
        self._lingered_length = 0
        return 0

    def work(self, now_ns: int) -> int:
        """Read, acknowledge and check deadlines; return the bytes read, without those discarded while lingering."""
        if self.phase == phases.PHASE_FREE:
            # The connection was abandoned after the last call: the endpoint takes the slot back.
            return 0
        self._now_ns = now_ns
        self._windows_in_turn = 0
        self._has_window_waiting = False
        received = 0
        if self.phase <= phases.PHASE_FED:
            received = self._read(now_ns)
        if self.phase in (phases.PHASE_FED, phases.PHASE_ENDING):
            self.feed.work(now_ns)
            self._acknowledge(now_ns)
        if self.phase == phases.PHASE_LINGERING:
            self._linger(now_ns)
        elif self.phase != phases.PHASE_FREE:
            self._check_deadlines(now_ns)
        return received

    def lag(self) -> int:
        """Return the number of received events that are not acknowledged."""
        return 0 if self.phase == phases.PHASE_FREE else self.events - self.acknowledged

    # Reading from the socket

    def _read(self, now_ns: int) -> int:
        total = 0
        if self._parser.is_blocked and not self._parse(now_ns):
            return 0
        if self.is_watched and not self.is_readable:
            return 0
        while total < bounds.TURN_LENGTH and self.phase <= phases.PHASE_FED:
            # An announced length reserves nothing: the buffer doubles as data arrives.
            space = max(
                min(self._parser.wanted - self._input.size, self._input.size),
                self._read_length - self._input.size,
            )
            if not self._input.reserve(space):
                if self._read_length > bounds.READ_LENGTH:
                    self._read_length = bounds.READ_LENGTH
                    continue
                self._on_no_memory(space, now_ns)
                break
            space = self._input.free_length()
            received = self.connection.receive(
                self._input.buffer, self._input.start + self._input.size, space
            )
            if received <= 0:
                self._on_no_bytes(received, now_ns)
                break
            self._input.commit(received)
            total += received
            self._counters.bytes_received.get_and_add(received)
            self.bytes_received += received
            if self.phase == phases.PHASE_OPEN:
                self._enter(phases.PHASE_FED, now_ns)
                self._progress_ns = now_ns
                self.feed.begin(self.session_id, self.peer, now_ns)
            if not self._parse(now_ns):
                break
            if received < space:
                # The socket is probably empty. If it is watched, wait until it is reported readable: by then more data
                # has accumulated.
                self._read_length = bounds.READ_LENGTH
                self.is_readable = not self.is_watched
                break
            self._read_length = min(2 * self._read_length, bounds.LONG_READ_LENGTH)
        if self._input.size == 0:
            self._input.release()
        return total

    def _on_no_memory(self, space: int, now_ns: int) -> int:
        """Wait for memory of other connections, or end if the frame exceeds the whole budget; return 0."""
        # To grow, the old buffer is copied into the new one: for a moment the budget must allow both.
        if self._input.capacity + self._input.size + space > self._budget.limit:
            wanted = max(self._parser.wanted, self._input.size + space)
            self._end(end_reasons.TOO_LARGE, wanted, self._budget.limit, now_ns)
        return 0

    def _on_no_bytes(self, result: int, now_ns: int) -> int:
        if result == connections.CONNECTION_ENDED:
            # The peer can still read: acknowledge the events of an incomplete window, so that it does not resend them.
            self._windows.end_window()
            self._end(0, 0, 0, now_ns)
        elif result == connections.CONNECTION_FAILED:
            self.abandon(0, now_ns)
        else:
            self.is_readable = False
        return 0

    def _parse(self, now_ns: int) -> bool:
        """Parse the buffered input; return whether to read more."""
        used = self._parser.parse(self._input.buffer, self._input.start, self._input.size)
        self._input.consume(used)
        self.feed.flush(now_ns)
        self._count()
        if self.feed.is_broken:
            self.abandon(end_reasons.ABANDONED, now_ns)
            return False
        if self._parser.fault != faults.NO_FAULT:
            self._end(self._parser.fault, self._parser.fault_value, self._parser.fault_limit, now_ns)
            return False
        return not self._parser.is_blocked

    def _count(self) -> int:
        self._counters.bytes_inflated.get_and_add(self._parser.inflated_length - self.bytes_inflated)
        self.bytes_inflated = self._parser.inflated_length
        self._counters.events.get_and_add(self._events)
        self._events = 0
        return 0

    def on_window(self, version: int, count: int) -> int:
        """See `EventSink.on_window`."""
        # A window without events takes no space in an image. If it announces none, the queue of acknowledgements bounds
        # the number of such windows; if it announces events that do not arrive, only this limit per turn does.
        if not self._windows.can_begin() or self._windows_in_turn >= bounds.WINDOWS_PER_TURN:
            self._has_window_waiting = True
            return 0
        self._windows_in_turn += 1
        if self._acks.size == 0:
            # The writer was not waiting before this window, so the interval of keep-alives begins now.
            self._last_ack_ns = self._now_ns
        if self._windows.begin(version, count):
            self._progress_ns = self._now_ns
        self._counters.windows.increment_release()
        self.windows += 1
        return 1

    def on_event(self, version: int, sequence: int, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """See `EventSink.on_event`."""
        if self._acks.is_full() or not self.feed.has_space(length):
            return 0
        self.feed.offer(buffer, offset, length, sequence, self._now_ns)
        self._events += 1
        self.events += 1
        self._progress_ns = self._now_ns
        self._last_event_ns = self._now_ns
        self._windows.add_event(sequence, self.feed.position, self.events)
        return 1

    # Acknowledgements to the writer

    def _acknowledge(self, now_ns: int) -> int:
        consumed = self.feed.consumed_position()
        if self.feed.is_broken:
            return self.abandon(end_reasons.ABANDONED, now_ns)
        if self._is_acked_when_received and consumed != aeron_wire.NO_POSITION:
            consumed = self.feed.position
        if not self._windows.is_covered() and self._may_ack_part(now_ns, consumed):
            self._windows.cover()
        while self._acks.size > 0 and self._acks.position() <= consumed and self._output.has_space():
            self._output.put(self._acks.version(), self._acks.sequence(), now_ns)
            self.acknowledged = self._acks.total()
            self._acks.pop()
            self._counters.acks.increment_release()
            self.acks += 1
            self._last_ack_ns = now_ns
        if self._is_keep_alive_due(now_ns):
            self._output.put(self._windows.version, 0, now_ns)
            self._counters.keep_alives.increment_release()
            self.keep_alives += 1
            self._last_ack_ns = now_ns
        if self._output.write(self.connection, now_ns) == connections.CONNECTION_FAILED:
            return self.abandon(0, now_ns)
        if self.phase == phases.PHASE_ENDING and self._acks.size == 0 and self._output.is_empty():
            self.feed.end(now_ns)
            self.connection.end()
            self._enter(phases.PHASE_LINGERING, now_ns)
        return 0

    def _may_ack_part(self, now_ns: int, consumed: int) -> bool:
        if self._acks.size > 0:
            return False
        if self._windows.version == wire.VERSION_1:
            # In v1, W limits the unacknowledged events; the writer need not send that many.
            return now_ns - self._progress_ns > bounds.QUIET_NS
        return self._ack_partial and consumed >= self._windows.last_position

    def _is_keep_alive_due(self, now_ns: int) -> bool:
        # Keep-alives are due only while the writer waits for this side: they must not keep a slow writer connected.
        return (
            (self._acks.size > 0 or self._parser.is_blocked)
            and (self._windows.version == wire.VERSION_2 or self._keeps_v1_alive)
            and now_ns - self._last_ack_ns >= self._keep_alive_ns
            and self._output.has_space()
        )

    # Deadlines of the writer

    def _check_deadlines(self, now_ns: int) -> int:
        if not self._output.is_empty() and now_ns - self._output.stuck_ns > self._write_timeout_ns:
            return self.abandon(end_reasons.NOT_READ, now_ns)
        if self.phase == phases.PHASE_FED and not self.feed.has_begun():
            if now_ns - self._phase_ns > bounds.IMAGE_TIMEOUT_NS:
                self.abandon(end_reasons.NO_IMAGE, now_ns)
        elif self._is_peer_waiting():
            # The writer waits for this side: its own deadlines restart.
            self._progress_ns = now_ns
            self._last_event_ns = now_ns
        elif self.phase != phases.PHASE_ENDING:
            self._check_silence(now_ns)
        return 0

    def _is_peer_waiting(self) -> bool:
        # A window that a limit of `on_window` holds back does not count: the peer alone can cause that. Nor do
        # acknowledgements of windows without events, which the peer may leave unread.
        return (self._acks.size > 0 and self.events > self.acknowledged) or (
            self._parser.is_blocked and not self._has_window_waiting
        )

    def idle_ns(self, now_ns: int) -> int:
        """Return for how long no event has arrived, in nanoseconds.

        0 while an acknowledgement of events is due, any acknowledgement is unsent, or subscribers hold the writer back,
        and in phases other than OPEN and FED.
        """
        if self.phase not in (phases.PHASE_OPEN, phases.PHASE_FED):
            return 0
        if self._is_peer_waiting() or not self._output.is_empty():
            return 0
        return now_ns - self._last_event_ns

    def _check_silence(self, now_ns: int) -> int:
        if self._is_unfinished():
            # Windows that announce no events can be progress, but not without limit: otherwise this check would never
            # end the connection of a peer that sends them and always leaves a frame incomplete.
            silence_ns = now_ns - self._last_event_ns
            if (
                now_ns - self._progress_ns > self._window_timeout_ns
                or silence_ns > self._idle_timeout_ns + self._window_timeout_ns
            ):
                return self._end(end_reasons.UNFINISHED, self._windows.left, self._windows.length, now_ns)
        elif now_ns - self._last_event_ns > self._idle_timeout_ns:
            return self._end(end_reasons.IDLE, 0, 0, now_ns)
        return 0

    def _is_unfinished(self) -> bool:
        return self._input.size > 0 or not self._parser.is_between_frames or self._windows.is_unfinished()

    # The end of the connection

    def _enter(self, phase: int, now_ns: int) -> int:
        self.phase = phase
        self._phase_ns = now_ns
        return 0

    def _end(self, reason: int, value: int, limit: int, now_ns: int) -> int:
        """Stop parsing, and linger after the queued acknowledgements are sent; return 0.

        `reason`: one of `faults` or `end_reasons`, 0 if the peer has ended.
        """
        self.end_reason = reason
        self.end_value = value
        self.end_limit = limit
        self._input.consume(self._input.size)
        self._input.release()
        if self.phase == phases.PHASE_OPEN:
            self.connection.end()
            self._enter(phases.PHASE_LINGERING, now_ns)
        else:
            self._enter(phases.PHASE_ENDING, now_ns)
        return 0

    def abandon(self, reason: int, now_ns: int) -> int:
        """Close the connection at once with a reset: the writer resends unacknowledged events. Return 0.

        `reason`: one of `end_reasons`, 0 if the socket failed; an earlier reason is kept.
        """
        if self.end_reason == 0:
            self.end_reason = reason
        if self.phase in (phases.PHASE_FED, phases.PHASE_ENDING):
            self.feed.end(now_ns)
        self.connection.close(True)
        self._free()
        return 0

    def _linger(self, now_ns: int) -> int:
        # Closing a socket with unread bytes sends a reset, which discards acknowledgements in flight.
        total = 0
        while total < bounds.TURN_LENGTH and self._input.reserve(bounds.READ_LENGTH):
            received = self.connection.receive(
                self._input.buffer, self._input.start, self._input.free_length()
            )
            if received < 0:
                self.connection.close(False)
                return self._free()
            if received == 0:
                break
            total += received
        self._lingered_length += total
        if now_ns - self._phase_ns > bounds.LINGER_NS or self._lingered_length > bounds.LINGER_LENGTH:
            self.connection.close(False)
            return self._free()
        return 0

    def _free(self) -> int:
        self._input.consume(self._input.size)
        self._input.release()
        self._parser.reset()
        self.phase = phases.PHASE_FREE
        return 0
