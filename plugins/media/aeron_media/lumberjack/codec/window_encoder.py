"""Encoder of a writer: windows of version 2, each a W frame and its events as J frames or as one C frame of them.

Not here: when a window is finished, sent and acknowledged. Events are numbered from 1 in each window, and a window is
contiguous in memory, so that one write can send it. With compression, the events of an open window are deflated each
time STAGED_LENGTH bytes of them have been added; `finish` deflates the rest.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget
from aeron_media.lumberjack._native import deflater, faults, json_text, wire
from aeron_media.lumberjack._native.deflater import Deflater
from aeron_media.lumberjack.codec.encoder_params import EncoderParams


class WindowEncoder:
    """Encoder of one connection; the first `ready` bytes of `block` are ready to send. Used by one thread.

    Methods that add an event begin a window if none is open. They return 1, 0 if the window must be finished first, or
    one of `faults`. After `NO_JSON_OBJECT` and `EVENT_TOO_LONG` the window is unchanged; after any other fault it is
    lost. They raise IndexError for bytes outside of `payload`. Memory is kept between windows until `release`.
    """

    _deflater: Deflater

    def __init__(self, params: EncoderParams, budget: MemoryBudget) -> None:
        self._budget = budget
        self._is_deflating = params.compression > 0
        self._is_wrapping = params.is_wrapping
        self._max_window_length = params.max_window_length
        self._max_event_length = params.max_event_length
        if self._is_deflating:
            self._deflater = Deflater(params.compression, budget)
        # Finished windows wait for the socket; only the budget bounds them.
        self.block = ByteQueue(budget, max(budget.limit, 1))
        self._staged = ByteQueue(budget, max(budget.limit, 1)) if self._is_deflating else self.block
        self._pieces = ByteQueue(budget, params.max_event_length)
        self._wrapping = AtomicBuffer(b'{"message":""}')
        self.is_open = False
        self._plain_length = 0
        self._staged_length = 0
        self._first = 0
        self._last = 0
        self.count = 0
        self.ready = 0
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0

    def begin(self) -> int:
        """Begin a window while none is open; return 1, or the fault BUDGET_SPENT if there is no memory for it."""
        self.fault = faults.NO_FAULT
        is_ready = self.block.reserve(2 * wire.SHORT_FRAME_LENGTH)
        if self._is_deflating and is_ready:
            is_ready = self._deflater.start() and self._staged.reserve(2 * deflater.STAGED_LENGTH)
        if not is_ready:
            return self._set_fault(faults.BUDGET_SPENT, self._budget.used, self._budget.limit)
        # The count and length fields are filled in by `finish`.
        self.block.write_u8(wire.VERSION_2)
        self.block.write_u8(wire.TYPE_WINDOW)
        self.block.commit(wire.NUMBER_LENGTH)
        if self._is_deflating:
            self.block.write_u8(wire.VERSION_2)
            self.block.write_u8(wire.TYPE_COMPRESSED)
            self.block.commit(wire.NUMBER_LENGTH)
        self.is_open = True
        self.count = 0
        self._plain_length = 0
        self._staged_length = 0
        return 1

    def add(self, payload: AtomicBuffer, offset: int, length: int) -> int:
        """Add an event of the `length` bytes at `offset`; return 1, 0 or a fault, see the class."""
        if self._is_wrapping:
            self.fault = faults.NO_FAULT
            payload.check(offset, length)
            return self._stage_wrapped(payload, offset, length)
        answer = self.begin_event(length)
        if answer <= 0:
            return answer
        self._stage(payload, offset, length)
        return self._end_staging()

    def begin_event(self, max_length: int) -> int:
        """Begin an event of at most `max_length` bytes in pieces; drop a previous one that was not ended.

        Return 1, 0 or a fault, see the class.
        """
        self.fault = faults.NO_FAULT
        self._forget_event()
        self._first = 0
        self._last = 0
        if self._is_wrapping:
            return 1 if max_length <= self._max_event_length else self._blame_length(max_length)
        answer = self._reserve_event(max_length)
        if answer > 0:
            self._stage_header()
        return answer

    def add_piece(self, payload: AtomicBuffer, offset: int, length: int) -> int:
        """Add the `length` bytes at `offset` to the event; return 1, or a fault, which drops the event."""
        payload.check(offset, length)
        if self._is_wrapping:
            if self._pieces.append(payload, offset, length):
                return 1
            length += self._pieces.size
            self._forget_event()
            if self._pieces.lacks_budget:
                return self._fail()
            return self._blame_length(length)
        if length > self._staged.free_length():
            length += self._staged_length - wire.JSON_PAYLOAD_OFFSET
            self._forget_event()
            return self._blame_length(length)
        return self._stage(payload, offset, length)

    def end_event(self) -> int:
        """End the event; return 1 or a fault. If this returns 0, finish the window and call again."""
        if not self._is_wrapping:
            return self._end_staging()
        answer = self._stage_wrapped(self._pieces.buffer, self._pieces.start, self._pieces.size)
        if answer != 0:
            self._forget_event()
            self._pieces.release()
        return answer

    def finish(self) -> int:
        """End the window; return its length in bytes, 0 if none is open or it has no events, or a fault."""
        self.fault = faults.NO_FAULT
        if not self.is_open:
            return 0
        if self._staged_length > 0:
            # Leave out an event that was begun and not ended: part of an event would make the window invalid.
            self._forget_event()
        if self.count == 0:
            self._abandon()
            return 0
        if self._is_deflating:
            if self._deflate(True) < 0:
                return self.fault
            self._put_number(
                wire.SHORT_FRAME_LENGTH, self.block.size - self.ready - 2 * wire.SHORT_FRAME_LENGTH
            )
        self._put_number(0, self.count)
        length = self.block.size - self.ready
        self.ready = self.block.size
        self.is_open = False
        self.count = 0
        return length

    def consume(self, length: int) -> int:
        """Remove the first `length` bytes of `block`, which were sent; return how many are still ready to send."""
        self.ready -= min(length, self.ready)
        self.block.consume(min(length, self.block.size))
        return self.ready

    def reset(self) -> int:
        """Drop all windows and free all memory; return 1."""
        self._abandon()
        self._forget_event()
        self.block.consume(self.block.size)
        self.ready = 0
        return self.release()

    def release(self) -> int:
        """Free all memory that holds no bytes; return 1, or 0 if finished windows are not sent or one is open.

        While a window is open, frees nothing.
        """
        if self.is_open:
            return 0
        if self._is_deflating:
            self._deflater.close()
            self._staged.release()
        self._pieces.release()
        return self.block.release()

    def _reserve_event(self, length: int) -> int:
        """Reserve memory for an event of `length` bytes; begin a window if none is open.

        Return 1, 0 if the window must be finished first, or a fault.
        """
        if length > self._max_event_length:
            return self._blame_length(length)
        if not self.is_open and self.begin() < 0:
            return self.fault
        if (
            self.count > 0
            and self._plain_length + wire.JSON_PAYLOAD_OFFSET + length > self._max_window_length
        ):
            return 0
        if self._staged.reserve(wire.JSON_PAYLOAD_OFFSET + length):
            return 1
        # With events in the window this is no fault: sending them frees memory for the next window.
        return 0 if self.count > 0 else self._fail()

    def _stage_header(self) -> int:
        self._staged.write_u8(wire.VERSION_2)
        self._staged.write_u8(wire.TYPE_JSON)
        wire.put_u32(self._staged.buffer, self._staged.start + self._staged.size, self.count + 1)
        # The length field is filled in by `_end_staging`.
        self._staged.commit(wire.JSON_PAYLOAD_OFFSET - wire.NUMBER_OFFSET)
        self._staged_length = wire.JSON_PAYLOAD_OFFSET
        return 1

    def _stage(self, payload: AtomicBuffer, offset: int, length: int) -> int:
        self._staged.append(payload, offset, length)
        self._staged_length += length
        return self._note_ends(payload, offset, length)

    def _stage_wrapped(self, payload: AtomicBuffer, offset: int, length: int) -> int:
        text_length = json_text.text_length(payload, offset, length)
        answer = self._reserve_event(text_length + wire.WRAPPING_LENGTH)
        if answer <= 0:
            return answer
        self._first = 0
        self._stage_header()
        self._stage(self._wrapping, 0, wire.WRAPPING_LENGTH - wire.WRAPPING_END_LENGTH)
        json_text.write_text(payload, offset, length, self._staged)
        self._staged_length += text_length
        self._stage(self._wrapping, wire.WRAPPING_LENGTH - wire.WRAPPING_END_LENGTH, wire.WRAPPING_END_LENGTH)
        return self._end_staging()

    def _note_ends(self, payload: AtomicBuffer, offset: int, length: int) -> int:
        """Record the first non-blank byte of the event and the last one so far; return 1."""
        begin = offset
        end = offset + length
        while self._first == 0 and begin < end:
            value = payload.get_u8(begin)
            if not wire.is_blank(value):
                self._first = max(value, 1)
            begin += 1
        while end > offset:
            end -= 1
            value = payload.get_u8(end)
            if not wire.is_blank(value):
                self._last = value
                break
        return 1

    def _end_staging(self) -> int:
        payload_length = self._staged_length - wire.JSON_PAYLOAD_OFFSET
        if payload_length > self._max_event_length:
            self._forget_event()
            return self._blame_length(payload_length)
        # Only the braces are checked: whether the text between them is valid JSON is up to the reader.
        if self._first != ord("{") or self._last != ord("}"):
            self._forget_event()
            return self._set_fault(faults.NO_JSON_OBJECT, payload_length, 0)
        begin = self._staged.start + self._staged.size - self._staged_length
        wire.put_u32(self._staged.buffer, begin + wire.JSON_LENGTH_OFFSET, payload_length)
        self.count += 1
        self._plain_length += self._staged_length
        self._staged_length = 0
        if self._is_deflating and self._staged.size >= deflater.STAGED_LENGTH:
            return self._deflate(False)
        return 1

    def _deflate(self, is_last: bool) -> int:
        answer = self._deflater.deflate(
            self._staged.buffer, self._staged.start, self._staged.size, self.block, is_last
        )
        if answer != deflater.DEFLATE_DONE:
            return self._fail()
        self._staged.consume(self._staged.size)
        return 1

    def _put_number(self, frame: int, value: int) -> int:
        """Fill in the number of the frame that begins `frame` bytes into the open window."""
        return wire.put_u32(
            self.block.buffer, self.block.start + self.ready + frame + wire.NUMBER_OFFSET, value
        )

    def _forget_event(self) -> int:
        self._pieces.consume(self._pieces.size)
        self._staged.drop(self._staged_length)
        self._staged_length = 0
        return 1

    def _abandon(self) -> int:
        """Drop the open window."""
        self.block.drop(self.block.size - self.ready)
        if self._is_deflating:
            self._staged.consume(self._staged.size)
        self._staged_length = 0
        self.is_open = False
        self.count = 0
        return 1

    def _fail(self) -> int:
        self._set_fault(faults.BUDGET_SPENT, self._budget.used, self._budget.limit)
        self._abandon()
        return self.fault

    def _blame_length(self, length: int) -> int:
        return self._set_fault(faults.EVENT_TOO_LONG, length, self._max_event_length)

    def _set_fault(self, fault: int, value: int, limit: int) -> int:
        self.fault = fault
        self.fault_value = value
        self.fault_limit = limit
        return fault
