"""The D frame of version 1: pairs of strings that become one JSON object.

Not here: the sequence number. Each string is scanned once however often the frame is split, and the text is built once
however often it is offered to the sink. Order and duplicates of keys are preserved; invalid UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget
from aeron_media.lumberjack._native import faults, json_text, wire
from aeron_media.lumberjack.codec.frame_limits import FrameLimits


class Pairs:
    """Reader of one D frame at a time; lengths are bytes. A `fault` remains until `reset`."""

    def __init__(self, limits: FrameLimits, budget: MemoryBudget) -> None:
        self._budget = budget
        self._max_event_length = limits.max_event_length
        self._max_frame_length = limits.max_frame_length
        self._max_pairs = limits.max_pairs
        self.text = ByteQueue(budget, limits.max_event_length)
        self._strings_left = -1
        self._scanned = 0
        self.wanted = 0
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0

    def read(self, buffer: AtomicBuffer, at: int, left: int) -> bool:
        """Read the frame at offset `at`, of which `left` bytes are available; return whether `text` has its JSON.

        If not, `fault` is set, or the frame needs at least `wanted` bytes. The next call must be for the same frame
        until `end` or `reset`.
        """
        if self.text.size > 0:
            return True
        if self._strings_left < 0:
            self.wanted = wire.PAIRS_OFFSET
            if left < wire.PAIRS_OFFSET:
                return False
            count = wire.get_u32(buffer, at + wire.PAIR_COUNT_OFFSET)
            if count > self._max_pairs:
                return self._set_fault(faults.TOO_MANY_PAIRS, count, self._max_pairs)
            self._strings_left = count * 2
            self._scanned = wire.PAIRS_OFFSET
        return self._scan(buffer, at, left) and self._build(buffer, at)

    def _scan(self, buffer: AtomicBuffer, at: int, left: int) -> bool:
        """Return whether all strings are complete; if not, set `wanted`, and `fault` if the frame is too long."""
        while self._strings_left > 0:
            end = self._scanned + wire.STRING_LENGTH_LENGTH
            if left >= end:
                end += wire.get_u32(buffer, at + self._scanned)
            # Each further string has at least a length field.
            self.wanted = end + (self._strings_left - 1) * wire.STRING_LENGTH_LENGTH
            if self.wanted > self._max_frame_length:
                return self._set_fault(faults.FRAME_TOO_LONG, self.wanted, self._max_frame_length)
            if left < end:
                return False
            self._scanned = end
            self._strings_left -= 1
        return True

    def _build(self, buffer: AtomicBuffer, at: int) -> bool:
        length = self._text_length(buffer, at)
        if length > self._max_event_length:
            return self._set_fault(faults.EVENT_TOO_LONG, length, self._max_event_length)
        if not self.text.reserve(length):
            return self._set_fault(faults.BUDGET_SPENT, self._budget.used, self._budget.limit)
        self._write(buffer, at)
        return True

    def _text_length(self, buffer: AtomicBuffer, at: int) -> int:
        length = 2
        offset = wire.PAIRS_OFFSET
        while offset < self._scanned:
            step = wire.get_u32(buffer, at + offset)
            offset += wire.STRING_LENGTH_LENGTH
            # Two quotes, and a colon or a comma; no comma follows the last pair.
            length += json_text.text_length(buffer, at + offset, step) + 3
            offset += step
        return length if length == 2 else length - 1

    def _write(self, buffer: AtomicBuffer, at: int) -> int:
        offset = wire.PAIRS_OFFSET
        is_key = True
        self.text.write_u8(ord("{"))
        while offset < self._scanned:
            step = wire.get_u32(buffer, at + offset)
            offset += wire.STRING_LENGTH_LENGTH
            if offset > wire.PAIRS_OFFSET + wire.STRING_LENGTH_LENGTH:
                self.text.write_u8(ord(",") if is_key else ord(":"))
            self.text.write_u8(ord('"'))
            json_text.write_text(buffer, at + offset, step, self.text)
            self.text.write_u8(ord('"'))
            offset += step
            is_key = not is_key
        self.text.write_u8(ord("}"))
        return 0

    def end(self) -> int:
        """Drop the frame after the sink has taken it; return its length in bytes."""
        self.text.consume(self.text.size)
        self._strings_left = -1
        return self._scanned

    def reset(self) -> int:
        """Drop the frame and its fault; return 1."""
        self.end()
        self.fault = faults.NO_FAULT
        return self.release()

    def release(self) -> int:
        """Free the memory of the text if it is empty; return whether it was."""
        return self.text.release()

    def _set_fault(self, fault: int, value: int, limit: int) -> bool:
        self.fault = fault
        self.fault_value = value
        self.fault_limit = limit
        return False
