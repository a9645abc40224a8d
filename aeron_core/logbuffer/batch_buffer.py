"""Memory for a batch of messages in the layout of Arrow binary columns: contiguous bytes and boundaries.

Not here: the source of the messages; several images may fill one batch.
Invariant: the first `count` + 1 boundaries do not decrease, begin with 0 and end with `data_length`, except between
`append` and `finish`.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer


class BatchBuffer:
    """Space for `capacity` messages with `data_capacity` bytes in total; all numbers in it are little-endian.

    One thread uses it at a time. Raises ValueError unless both capacities are positive.
    """

    def __init__(self, capacity: int, data_capacity: int) -> None:
        if capacity <= 0 or data_capacity <= 0:
            raise ValueError(
                f"capacity={capacity} (in messages), data_capacity={data_capacity} (in bytes): each must be at least 1"
            )
        self.data = AtomicBuffer.allocate(data_capacity)
        # Entry 0 is the zero of fresh memory; no method stores anything else there.
        self.boundaries = AtomicBuffer.allocate(capacity * 8 + 8)
        self.positions = AtomicBuffer.allocate(capacity * 8)
        self.reserved_values = AtomicBuffer.allocate(capacity * 8)
        self.session_ids = AtomicBuffer.allocate(capacity * 4)
        self.capacity = capacity
        self.count = 0
        self.data_length = 0

    def clear(self) -> int:
        """Discard all messages, so that their memory is reused; return 0."""
        self.count = 0
        self.data_length = 0
        return 0

    def has_space(self, length: int) -> bool:
        """Return whether one more message of `length` bytes fits."""
        return self.count < self.capacity and length <= self.data.capacity - self.data_length

    def append(self, source: AtomicBuffer, source_offset: int, length: int) -> int:
        """Add bytes to the message that `finish` completes; return 0.

        Raises IndexError if they lie outside `source` or do not fit into `data`.
        """
        self.data.copy_from(self.data_length, source, source_offset, length)
        self.data_length += length
        return 0

    def finish(self, position: int, reserved_value: int, session_id: int) -> int:
        """Complete a message that ends at `position` of its stream; return 0.

        Raises IndexError if the batch has `capacity` messages already.
        """
        self.positions.put_i64(self.count * 8, position)
        self.reserved_values.put_i64(self.count * 8, reserved_value)
        self.session_ids.put_i32(self.count * 4, session_id)
        self.count += 1
        # The end of this message is also the begin of the next one, as in Arrow.
        self.boundaries.put_i64(self.count * 8, self.data_length)
        return 0
