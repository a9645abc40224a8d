"""Parts of a log in flight, the connection that each is sent over, and the position up to which all is acknowledged.

    confirmed ── done, sent, lost, sent … ── drawn ── not yet sent

A part that was lost with its connection is sent again before anything new. Parts complete in any order; `confirmed`
advances over completed parts at the front.

Invariant: parts are contiguous, each begins where its predecessor ends, and `confirmed` never decreases.

Not here: the content of a part, and sending it.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media.lumberjack._native import sentinels


class WindowLedger:
    """Positions of one stream; an owner is the number of a connection, from 0. Runs on the sender."""

    def __init__(self, max_owned: int) -> None:
        """Reserve space for `max_owned` parts in flight."""
        # One entry for each part in flight, and one for the completed part between it and the next; a lost part keeps
        # the entry that it had in flight. 8 more, an invented number, because a lost part may be sent again in several
        # parts; `has_space` returns False while fewer than two entries are free.
        self._capacity = 2 * max_owned + 8
        self._ends = AtomicBuffer.allocate(self._capacity * 8)
        self._owners = AtomicBuffer.allocate(self._capacity * 8)
        self.confirmed = 0
        self.drawn = 0
        self._size = 0

    def begin(self, position: int) -> int:
        """Forget all parts; start at `position`, up to which all counts as acknowledged. Return 0."""
        self.confirmed = position
        self.drawn = position
        self._size = 0
        return 0

    def next_begin(self) -> int:
        """Return the begin position of the next part to send: the first lost one, else `drawn`."""
        at = self._first_lost()
        return self.drawn if at < 0 else self._begin_of(at)

    def next_end(self) -> int:
        """Return the maximum end position of the next part: the end of the first lost one, else 2**62 (no limit)."""
        at = self._first_lost()
        return 1 << 62 if at < 0 else self._ends.get_i64(at * 8)

    def has_space(self) -> bool:
        """Return whether another part can be taken."""
        return self._size + 2 <= self._capacity

    def take(self, end: int, owner: int) -> int:
        """Assign the part from `next_begin` to `end` to `owner`, a connection or DONE; return 0.

        Call only if `has_space` returns True.
        """
        at = self._first_lost()
        if at < 0:
            self._put(self._size, end, owner)
            self._size += 1
            self.drawn = end
        else:
            if end < self._ends.get_i64(at * 8):
                self._open_gap(at)
            self._put(at, end, owner)
        return self._tidy()

    def complete(self, end: int) -> int:
        """Mark the part that ends at `end` as acknowledged; advance `confirmed` over parts at the front. Return 0."""
        for index in range(self._size):
            if self._ends.get_i64(index * 8) == end:
                self._owners.put_i64(index * 8, sentinels.DONE)
                break
        return self._tidy()

    def give_back(self, owner: int) -> int:
        """Mark all parts of a closed connection as lost; return 0."""
        for index in range(self._size):
            if self._owners.get_i64(index * 8) == owner:
                self._owners.put_i64(index * 8, sentinels.LOST)
        return self._tidy()

    def _first_lost(self) -> int:
        for index in range(self._size):
            if self._owners.get_i64(index * 8) == sentinels.LOST:
                return index
        return sentinels.NOWHERE

    def _begin_of(self, index: int) -> int:
        return self.confirmed if index == 0 else self._ends.get_i64((index - 1) * 8)

    def _put(self, index: int, end: int, owner: int) -> int:
        self._ends.put_i64(index * 8, end)
        self._owners.put_i64(index * 8, owner)
        return 0

    def _open_gap(self, at: int) -> int:
        length = (self._size - at) * 8
        self._ends.copy_from((at + 1) * 8, self._ends, at * 8, length)
        self._owners.copy_from((at + 1) * 8, self._owners, at * 8, length)
        self._size += 1
        return 0

    def _tidy(self) -> int:
        """Merge adjacent parts that are done or lost; drop done parts at the front, a lost one at the end; return 0."""
        kept = 0
        for index in range(self._size):
            end = self._ends.get_i64(index * 8)
            owner = self._owners.get_i64(index * 8)
            if owner == sentinels.DONE and kept == 0:
                self.confirmed = end
            elif owner < 0 and kept > 0 and self._owners.get_i64((kept - 1) * 8) == owner:
                self._ends.put_i64((kept - 1) * 8, end)
            else:
                self._put(kept, end, owner)
                kept += 1
        self._size = kept
        if kept > 0 and self._owners.get_i64((kept - 1) * 8) == sentinels.LOST:
            # Treat the lost part at the end as never sent, so that it can be joined with what follows in the log.
            self.drawn = self._begin_of(kept - 1)
            self._size = kept - 1
        return 0
