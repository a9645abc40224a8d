"""Which parts of a log are on their way, over which connection, and up to where all of it was acknowledged.

    confirmed ── done, sent, lost, sent … ── drawn ── what nobody has looked at

Parts adjoin: each begins where its predecessor ends. A part that was lost with its connection is drawn again before
anything new is. Parts are done in any order, and `confirmed` moves over those that are done from the front on.

Not here: what is in a part, and what a connection does with it.
"""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_media.lumberjack._native import sentinels


class WindowLedger:
    """Positions of one stream; owners are numbers of connections, from 0. Used by the sender."""

    def __init__(self, max_owned: int) -> None:
        """Have room for `max_owned` parts that are on their way at a time."""
        # Between any two there may be one that is done; those that are lost were on their way.
        self._capacity = 2 * max_owned + 8
        self._ends = AtomicBuffer.allocate(self._capacity * 8)
        self._owners = AtomicBuffer.allocate(self._capacity * 8)
        self.confirmed = 0
        self.drawn = 0
        self._size = 0

    def begin(self, position: int) -> int:
        """Start at `position`; return 0."""
        self.confirmed = position
        self.drawn = position
        self._size = 0
        return 0

    def next_begin(self) -> int:
        """Return where the next part begins that is to be sent."""
        at = self._first_lost()
        return self.drawn if at < 0 else self._begin_of(at)

    def next_end(self) -> int:
        """Return where that part has to end at the latest, beyond all positions where it need not."""
        at = self._first_lost()
        return 1 << 62 if at < 0 else self._ends.get_i64(at * 8)

    def has_room(self) -> bool:
        """Return whether one more part can be taken."""
        return self._size + 2 <= self._capacity

    def take(self, end: int, owner: int) -> int:
        """Note that what lies between `next_begin` and `end` is on its way, or is `sentinels.DONE`; return 0."""
        at = self._first_lost()
        if at < 0:
            self._put(self._size, end, owner)
            self._size += 1
            self.drawn = end
        else:
            if end < self._ends.get_i64(at * 8):
                self._make_room(at)
            self._put(at, end, owner)
        return self._tidy()

    def complete(self, end: int) -> int:
        """Note that the part which ends there was acknowledged; return 0."""
        for index in range(self._size):
            if self._ends.get_i64(index * 8) == end:
                self._owners.put_i64(index * 8, sentinels.DONE)
                break
        return self._tidy()

    def give_back(self, owner: int) -> int:
        """Note that what a connection had on its way is lost; return 0."""
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

    def _make_room(self, at: int) -> int:
        length = (self._size - at) * 8
        self._ends.copy_from((at + 1) * 8, self._ends, at * 8, length)
        self._owners.copy_from((at + 1) * 8, self._owners, at * 8, length)
        self._size += 1
        return 0

    def _tidy(self) -> int:
        """Join neighbours that are done, or lost; let go of both ends where nothing is on its way. Return 0."""
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
            # As if it had never been drawn: what comes behind it may go with it.
            self.drawn = self._begin_of(kept - 1)
            self._size = kept - 1
        return 0
