"""Incremental parser of the frames that a writer sends, however they are split into reads.

Not here: sockets, clocks, acknowledgements, and whether a window has as many events as announced. A parser with a fault
stays faulty until `reset`.

| frame | becomes |
|---|---|
| W | `on_window` |
| J | `on_event`, its payload as it was sent |
| D | `on_event`, a JSON object of strings |
| C | the same for the frames inside; it can contain W, and a window can mix several C frames with J and D frames |

Version '1' or '2' can change from frame to frame, and every frame type is valid with both. Sequence numbers are
passed on unchanged. Invariant: bytes count as parsed only after the sink has taken what they contain; the bytes of a C
frame, once they are inflated into a queue of bounded length.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.lumberjack._native import faults, wire
from aeron_media.lumberjack.codec.envelope import Envelope
from aeron_media.lumberjack.codec.event_sink import EventSink
from aeron_media.lumberjack.codec.frame_limits import FrameLimits
from aeron_media.lumberjack.codec.pairs import Pairs


class FrameParser:
    """Parser of one connection; holds no memory of the budget between frames. Used by one thread.

    `depth`: number of C frames around the input.
    """

    _inner: FrameParser

    def __init__(self, limits: FrameLimits, sink: EventSink, budget: MemoryBudget, depth: int = 0) -> None:
        self._sink = sink
        self._max_event_length = limits.max_event_length
        self._max_frame_length = limits.max_frame_length
        self._max_compressed_length = limits.max_compressed_length
        self._max_nesting = limits.max_nesting
        self._depth = depth
        self._pairs = Pairs(limits, budget)
        self._envelope = Envelope(limits, budget)
        if depth < limits.max_nesting:
            self._inner = FrameParser(limits, sink, budget, depth + 1)
        self._outermost = 0
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0
        self.is_blocked = False
        self.is_between_frames = True
        self.wanted = wire.SHORT_FRAME_LENGTH
        self.inflated_length = 0
        self.junk_length = 0

    def unbind(self) -> None:
        """Release the sink; call nothing afterwards."""
        self._sink = None  # type: ignore[assignment]
        if self._inner is not None:
            self._inner.unbind()

    def reset(self) -> int:
        """Drop an incomplete frame, the fault and the counts, for the next connection; return 0."""
        self._pairs.reset()
        self._envelope.reset()
        if self._inner is not None:
            self._inner.reset()
        self._outermost = 0
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0
        self.is_blocked = False
        self.is_between_frames = True
        self.wanted = wire.SHORT_FRAME_LENGTH
        self.inflated_length = 0
        self.junk_length = 0
        return 0

    def parse(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Parse `length` bytes at `offset`, up to a fault or back pressure; return how many were parsed.

        The next call must begin with the bytes that were not parsed; it needs at least `wanted` bytes to make progress,
        or no new ones if `is_blocked` is set: then the sink has no space. If `fault` is set, no call parses anything
        until `reset`. Raises IndexError if the bytes exceed `buffer`, and passes on exceptions of the sink.
        """
        buffer.check(offset, length)
        self.is_blocked = False
        self.wanted = wire.SHORT_FRAME_LENGTH
        done = 0
        while self.fault == faults.NO_FAULT:
            if self._envelope.left >= 0:
                step = self._parse_compressed(buffer, offset + done, length - done)
                done += step
                if self._envelope.left >= 0:
                    break
            else:
                step = self._parse_frame(buffer, offset + done, length - done)
                done += step
                if step == 0:
                    break
        self.is_between_frames = done == length and self._envelope.left < 0
        if not self.is_blocked:
            self._pairs.release()
        return done

    def _parse_frame(self, buffer: AtomicBuffer, at: int, left: int) -> int:
        if left == 0:
            return 0
        version = buffer.get_u8(at)
        if version != wire.VERSION_2 and version != wire.VERSION_1:  # noqa: PLR1714 - compiled
            return self._set_fault(faults.WRONG_VERSION, version, 0)
        if left == 1:
            return self._wait_for(wire.SHORT_FRAME_LENGTH)
        frame_type = buffer.get_u8(at + wire.TYPE_OFFSET)
        if frame_type == wire.TYPE_JSON:
            return self._parse_json(buffer, at, left)
        if frame_type == wire.TYPE_DATA:
            return self._parse_pairs(buffer, at, left)
        return self._parse_short(buffer, at, left, frame_type)

    def _parse_short(self, buffer: AtomicBuffer, at: int, left: int, frame_type: int) -> int:
        if frame_type != wire.TYPE_WINDOW and frame_type != wire.TYPE_COMPRESSED:  # noqa: PLR1714 - compiled
            return self._set_fault(faults.WRONG_TYPE, frame_type, 0)
        if left < wire.SHORT_FRAME_LENGTH:
            return self._wait_for(wire.SHORT_FRAME_LENGTH)
        if frame_type == wire.TYPE_WINDOW:
            return self._parse_window(buffer, at)
        return self._begin_compressed(buffer, at)

    def _parse_json(self, buffer: AtomicBuffer, at: int, left: int) -> int:
        if left < wire.JSON_PAYLOAD_OFFSET:
            return self._wait_for(wire.JSON_PAYLOAD_OFFSET)
        payload_length = wire.get_u32(buffer, at + wire.JSON_LENGTH_OFFSET)
        if payload_length == 0:
            return self._set_fault(faults.EMPTY_EVENT, 0, 0)
        if payload_length > self._max_event_length:
            return self._set_fault(faults.EVENT_TOO_LONG, payload_length, self._max_event_length)
        length = wire.JSON_PAYLOAD_OFFSET + payload_length
        if length > self._max_frame_length:
            return self._set_fault(faults.FRAME_TOO_LONG, length, self._max_frame_length)
        if left < length:
            return self._wait_for(length)
        sequence = wire.get_u32(buffer, at + wire.NUMBER_OFFSET)
        answer = self._sink.on_event(
            buffer.get_u8(at), sequence, buffer, at + wire.JSON_PAYLOAD_OFFSET, payload_length
        )
        return length if self._is_taken(answer, sequence) else 0

    def _parse_pairs(self, buffer: AtomicBuffer, at: int, left: int) -> int:
        if not self._pairs.read(buffer, at, left):
            if self._pairs.fault != faults.NO_FAULT:
                return self._set_fault(self._pairs.fault, self._pairs.fault_value, self._pairs.fault_limit)
            return self._wait_for(self._pairs.wanted)
        sequence = wire.get_u32(buffer, at + wire.NUMBER_OFFSET)
        answer = self._sink.on_event(
            buffer.get_u8(at),
            sequence,
            self._pairs.text.buffer,
            self._pairs.text.start,
            self._pairs.text.size,
        )
        return self._pairs.end() if self._is_taken(answer, sequence) else 0

    def _parse_window(self, buffer: AtomicBuffer, at: int) -> int:
        count = wire.get_u32(buffer, at + wire.NUMBER_OFFSET)
        answer = self._sink.on_window(buffer.get_u8(at), count)
        return wire.SHORT_FRAME_LENGTH if self._is_taken(answer, count) else 0

    def _begin_compressed(self, buffer: AtomicBuffer, at: int) -> int:
        length = wire.get_u32(buffer, at + wire.NUMBER_OFFSET)
        if self._depth >= self._max_nesting:
            return self._set_fault(faults.NESTED_TOO_DEEP, self._depth + 1, self._max_nesting)
        if length > self._max_compressed_length:
            return self._set_fault(faults.COMPRESSED_TOO_LONG, length, self._max_compressed_length)
        if self._depth == 0:
            self._forget_totals()
        if not self._envelope.begin(length):
            return self._set_fault(
                self._envelope.fault, self._envelope.fault_value, self._envelope.fault_limit
            )
        return wire.SHORT_FRAME_LENGTH

    def _parse_compressed(self, buffer: AtomicBuffer, at: int, left: int) -> int:
        """Inflate and parse bytes of the open C frame; return how many of them were used."""
        done = 0
        while not self._parse_inner():
            # Checked after `_parse_inner`, so that frames inflated before the fault are still delivered.
            if self._envelope.fault != faults.NO_FAULT:
                self._set_fault(self._envelope.fault, self._envelope.fault_value, self._envelope.fault_limit)
                break
            if self._envelope.is_finished:
                return done + self._end_compressed(left - done)
            used = self._envelope.inflate(buffer, at + done, left - done, self._inner.wanted, self._outermost)
            done += used
            self.inflated_length += self._envelope.made
            if self._envelope.is_starved:
                self._wait_for(1)
                break
        return done

    def _parse_inner(self) -> bool:
        """Parse the inflated bytes; return whether parsing must stop."""
        if self._depth == 0:
            self._inner._outermost = self._envelope.total_in
        else:
            self._inner._outermost = self._outermost
        parsed = self._inner.parse(
            self._envelope.queue.buffer, self._envelope.queue.start, self._envelope.queue.size
        )
        self._envelope.queue.consume(parsed)
        self.is_blocked = self._inner.is_blocked
        if self._inner.fault != faults.NO_FAULT:
            self._set_fault(self._inner.fault, self._inner.fault_value, self._inner.fault_limit)
        return self.is_blocked or self.fault != faults.NO_FAULT

    def _end_compressed(self, left: int) -> int:
        if not self._inner.is_between_frames:
            return self._set_fault(faults.CUT_FRAME, self._envelope.queue.size, 0)
        skipped = self._envelope.skip(left)
        self.junk_length += skipped
        if self._envelope.left == 0:
            self._envelope.end()
        else:
            self._wait_for(1)
        return skipped

    def _forget_totals(self) -> int:
        """Reset the totals of this and all nested C frames."""
        self._envelope.total_in = 0
        self._envelope.total_out = 0
        if self._inner is not None:
            self._inner._forget_totals()
        return 0

    def _is_taken(self, answer: int, value: int) -> bool:
        if answer > 0:
            return True
        if answer == 0:
            self.is_blocked = True
        else:
            self._set_fault(answer, value, self._sink.fault_limit)
        return False

    def _wait_for(self, length: int) -> int:
        self.wanted = length
        return 0

    def _set_fault(self, fault: int, value: int, limit: int) -> int:
        """Store a fault, which stops the parser; return 0, the number of bytes parsed."""
        self.fault = fault
        self.fault_value = value
        self.fault_limit = limit
        return 0
