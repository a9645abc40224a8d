"""Table of the receivers of a flow control, by their ids.

Not here: which receivers are added, and the resulting limit. Only growing the table takes the GIL.
Invariant: the first `count` records are in use, in no particular order.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer

_ID = 0
_LIMIT = 8  # position up to which the receiver allows sending
_TIME = 16  # when its last status message arrived, ns
_ENDED = 24  # 1 once the receiver ended or rejected the stream
_RECORD_LENGTH = 32
_FIRST_CAPACITY = 8


class Receivers:
    """Records of receivers; used by the sender thread. Limits are stream positions in bytes."""

    def __init__(self) -> None:
        self.count = 0
        self._records = AtomicBuffer.allocate(_FIRST_CAPACITY * _RECORD_LENGTH)

    def find(self, receiver_id: int) -> int:
        """Return the index of a receiver, valid until the next `forget`; -1 if it is unknown."""
        index = 0
        while index < self.count:
            if self._records.get_i64(index * _RECORD_LENGTH + _ID) == receiver_id:
                return index
            index += 1
        return -1

    def add(self, receiver_id: int, limit: int, now_ns: int) -> int:
        """Add a receiver that `find` does not find; return 0."""
        if (self.count + 1) * _RECORD_LENGTH > self._records.capacity:
            self._grow()
        self.count += 1
        self._records.put_i64((self.count - 1) * _RECORD_LENGTH + _ID, receiver_id)
        return self.update(self.count - 1, limit, False, now_ns)

    def update(self, index: int, limit: int, has_ended: bool, now_ns: int) -> int:
        """Store the limit, the time and whether a receiver has ended, from its status message; return 0."""
        record = index * _RECORD_LENGTH
        self._records.put_i64(record + _LIMIT, limit)
        self._records.put_i64(record + _TIME, now_ns)
        return self._records.put_i64(record + _ENDED, 1 if has_ended else 0)

    def end(self, index: int) -> int:
        """Mark a receiver for removal by the next `forget`; return 0."""
        return self._records.put_i64(index * _RECORD_LENGTH + _ENDED, 1)

    def forget(self, silent_since_ns: int) -> int:
        """Remove receivers that ended, or sent no status message since `silent_since_ns`; return how many.

        Indexes from `find` are invalid afterwards.
        """
        forgotten = 0
        # Backwards, so that the record that replaces a removed one was already checked.
        index = self.count - 1
        while index >= 0:
            record = index * _RECORD_LENGTH
            if (
                self._records.get_i64(record + _TIME) < silent_since_ns
                or self._records.get_i64(record + _ENDED) != 0
            ):
                self.count -= 1
                self._records.copy_from(record, self._records, self.count * _RECORD_LENGTH, _RECORD_LENGTH)
                forgotten += 1
            index -= 1
        return forgotten

    def lowest_limit(self, otherwise: int) -> int:
        """Return the lowest of the limits of all receivers and `otherwise`."""
        lowest = otherwise
        index = 0
        while index < self.count:
            lowest = min(lowest, self._records.get_i64(index * _RECORD_LENGTH + _LIMIT))
            index += 1
        return lowest

    def _grow(self) -> int:
        larger = AtomicBuffer.allocate(2 * self._records.capacity)
        larger.copy_from(0, self._records, 0, self.count * _RECORD_LENGTH)
        self._records = larger
        return 0
