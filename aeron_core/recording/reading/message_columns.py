"""Messages of a recording as columns in the layout of Arrow.

Not here: reading the messages (message_scanner). Invariant: the first `count` + 1 boundaries begin with 0 and do not
decrease.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.uri.values import INT32_MAX


class MessageColumns:
    """Columns for `capacity` messages with `payload_capacity` bytes in total; one thread uses it at a time.

    The constructor raises ValueError unless both capacities are from 1 to 2**31 - 1.
    """

    def __init__(self, capacity: int, payload_capacity: int) -> None:
        if not 0 < capacity <= INT32_MAX or not 0 < payload_capacity <= INT32_MAX:
            raise ValueError(
                f"capacity={capacity} (in messages), payload_capacity={payload_capacity} (in bytes): each must be from "
                f"1 to {INT32_MAX}"
            )
        self.payload = AtomicBuffer.allocate(payload_capacity)
        self.boundaries = AtomicBuffer.allocate(capacity * 4 + 4)
        self.positions = AtomicBuffer.allocate(capacity * 8)
        self.reserved_values = AtomicBuffer.allocate(capacity * 8)
        self.flags = AtomicBuffer.allocate(capacity * 4)
        self.capacity = capacity
        self.count = 0
        self.payload_length = 0
        self._flags_so_far = 0

    def clear(self) -> int:
        """Remove all messages and return 0; the memory is reused."""
        self.count = 0
        self.payload_length = 0
        self._flags_so_far = 0
        return 0

    def has_space(self, length: int) -> bool:
        """Return whether one more message, with a payload of `length` bytes, fits."""
        return self.count < self.capacity and length <= self.payload.capacity - self.payload_length

    def append(self, source: AtomicBuffer, frame: int, length: int) -> int:
        """Append the payload of a frame, `length` bytes, to the message that `finish` completes; return 0.

        `frame`: offset of its header in `source`. Raises IndexError if the payload does not fit.
        """
        self._flags_so_far |= source.get_u8(frame + wire.FRAME_FLAGS_OFFSET)
        self.payload.copy_from(self.payload_length, source, frame + wire.DATA_HEADER_LENGTH, length)
        self.payload_length += length
        return 0

    def finish(self, position: int, reserved_value: int) -> int:
        """Complete a message that ends at `position`; return 0. Call only if there was space for the message."""
        at = self.count
        self.positions.put_i64(at * 8, position)
        self.reserved_values.put_i64(at * 8, reserved_value)
        self.flags.put_i32(at * 4, self._flags_so_far)
        self.boundaries.put_i32(at * 4 + 4, self.payload_length)
        self.count = at + 1
        self._flags_so_far = 0
        return 0
