"""A C frame while it is read: inflates compressed bytes as they arrive into a short queue for the parser.

Not here: the meaning of the inflated frames. Invariants: the queue never holds more than a piece (PIECE_LENGTH) or the
longest frame, whichever is longer, and the memory of a C frame is freed at its end.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget
from aeron_media.lumberjack._native import faults, inflater
from aeron_media.lumberjack._native.inflater import Inflater
from aeron_media.lumberjack.codec.frame_limits import FrameLimits

_HEADER_SLACK = 16  # bytes; a frame header has 10


class Envelope:
    """Inflater of one C frame at a time, within the limits; an invalid stream or a violated limit sets `fault`.

    `left`: bytes of the frame that are not used yet, -1 between frames.
    """

    def __init__(self, limits: FrameLimits, budget: MemoryBudget) -> None:
        self._budget = budget
        self._max_inflated_length = limits.max_inflated_length
        self._max_ratio = limits.max_ratio
        self._inflater = Inflater(budget)
        # The queue holds a piece, or one frame if that is longer: the parser needs no more at once.
        self.queue = ByteQueue(budget, max(limits.max_frame_length + _HEADER_SLACK, inflater.PIECE_LENGTH))
        self.left = -1
        self.total_in = 0
        self.total_out = 0
        self.made = 0
        self.is_finished = False
        self.is_starved = False
        self.fault = faults.NO_FAULT
        self.fault_value = 0
        self.fault_limit = 0

    def begin(self, length: int) -> int:
        """Begin a frame of `length` compressed bytes; return 1, or 0 with a `fault` if there is no memory for it."""
        if not self._inflater.open():
            self._set_fault(faults.BUDGET_SPENT, self._budget.used, self._budget.limit)
            return 0
        self.left = length
        # An empty C frame has no zlib stream, so that there is nothing to inflate.
        self.is_finished = length == 0
        return 1

    def inflate(self, buffer: AtomicBuffer, offset: int, available: int, wanted: int, outermost: int) -> int:
        """Inflate a piece from `available` bytes at `offset`; return how many of them were used.

        Set `made` (bytes added to the queue), `is_finished` at the end of the zlib stream, `is_starved` if it needs
        more input, and `fault` if it is invalid, exceeds a limit or lacks memory. The queue grows towards a frame of
        `wanted` bytes only as data arrives. `outermost` is the number of bytes of the outermost C frame used so far, 0
        if this is the outermost one.
        """
        available = min(available, self.left)
        self.made = 0
        self.is_starved = False
        if not self._reserve_queue(wanted):
            return 0
        result = self._inflater.inflate(
            buffer, offset, available, self.queue, self._max_inflated_length - self.total_out + 1
        )
        self.made = self._inflater.made
        self.left -= self._inflater.used
        self.total_in += self._inflater.used
        self.total_out += self.made
        self.is_finished = result == inflater.INFLATE_FINISHED
        is_stuck = result == inflater.INFLATE_MORE and self._inflater.used == 0 and self.made == 0
        self.is_starved = is_stuck and self.left > 0
        if self.is_starved:
            # Hold no empty queue until more input arrives: many writers can pause within a frame at the same time.
            self.queue.release()
        if result == inflater.INFLATE_BROKEN:
            self._set_fault(faults.BROKEN_COMPRESSION, self.total_in, 0)
        elif is_stuck and self.left == 0:
            self._set_fault(faults.CUT_COMPRESSION, self.total_in, 0)
        elif self.total_out > self._max_inflated_length:
            self._set_fault(faults.INFLATED_TOO_LONG, self.total_out, self._max_inflated_length)
        elif self.total_out > inflater.RATIO_FREE_LENGTH:
            outermost = max(outermost if outermost > 0 else self.total_in, 1)
            if self.total_out > outermost * self._max_ratio:
                self._set_fault(faults.RATIO_TOO_HIGH, self.total_out // outermost, self._max_ratio)
        return self._inflater.used

    def _reserve_queue(self, wanted: int) -> int:
        length = inflater.PIECE_LENGTH - self.queue.size
        if length <= 0:
            length = min(self.queue.size, wanted - self.queue.size)
        if self.queue.reserve(length):
            return 1
        self._set_fault(faults.BUDGET_SPENT, self._budget.used, self._budget.limit)
        return 0

    def skip(self, available: int) -> int:
        """Free the zlib stream's state, and skip up to `available` of the bytes left in this frame; return how many."""
        self._inflater.close()
        self.queue.release()
        skipped = min(available, self.left)
        self.left -= skipped
        return skipped

    def end(self) -> int:
        """End the frame after all of its bytes were used; return 1."""
        self.left = -1
        return 1

    def reset(self) -> int:
        """Drop the frame and its fault; return 1."""
        self._inflater.close()
        self.queue.consume(self.queue.size)
        self.queue.release()
        self.total_in = 0
        self.total_out = 0
        self.made = 0
        self.is_finished = False
        self.is_starved = False
        self.fault = faults.NO_FAULT
        return self.end()

    def _set_fault(self, fault: int, value: int, limit: int) -> int:
        if self.fault == faults.NO_FAULT:
            self.fault = fault
            self.fault_value = value
            self.fault_limit = limit
        return fault
