"""Messages laid out as Arrow lays out binary columns: their bytes in one piece, and where each begins.

Not here: where messages come from; several images may fill one batch.
Invariant: the first `count` + 1 boundaries do not decrease, begin with 0 and end with `data_length`, except
between `append` and `finish`.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer


class BatchBuffer:
    """Room for `capacity` messages of `data_capacity` bytes together; all numbers in it are little-endian.

    One thread uses it at a time. Raises ValueError for a capacity that is not positive.
    """

    def __init__(self, capacity: int, data_capacity: int) -> None:
        if capacity <= 0 or data_capacity <= 0:
            raise ValueError(f"capacity={capacity}, data capacity={data_capacity}: must be positive")
        self.data = AtomicBuffer.allocate(data_capacity)
        self.boundaries = AtomicBuffer.allocate(capacity * 8 + 8)
        self.positions = AtomicBuffer.allocate(capacity * 8)
        self.reserved_values = AtomicBuffer.allocate(capacity * 8)
        self.session_ids = AtomicBuffer.allocate(capacity * 4)
        self.capacity = capacity
        self.count = 0
        self.data_length = 0

    def clear(self) -> int:
        """Forget all messages; their memory is used again."""
        self.count = 0
        self.data_length = 0
        return 0

    def has_room(self, length: int) -> bool:
        """Return whether one more message, of `length` bytes, fits."""
        return self.count < self.capacity and length <= self.data.capacity - self.data_length

    def append(self, source: AtomicBuffer, source_offset: int, length: int) -> int:
        """Add bytes to the message that `finish` will end. Raises IndexError where there is no room."""
        self.data.copy_from(self.data_length, source, source_offset, length)
        self.data_length += length
        return 0

    def finish(self, position: int, reserved_value: int, session_id: int) -> int:
        """End a message, whose stream goes on at `position`."""
        self.positions.put_i64(self.count * 8, position)
        self.reserved_values.put_i64(self.count * 8, reserved_value)
        self.session_ids.put_i32(self.count * 4, session_id)
        self.count += 1
        self.boundaries.put_i64(self.count * 8, self.data_length)
        return 0
