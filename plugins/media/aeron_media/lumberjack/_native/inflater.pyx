"""Inflates streams of zlib's format (RFC 1950), a piece at a time, with ISA-L or zlib.

Not here: how much may come out. A stream's state is memory of a budget, lent from `open` to `close`: an inflater
between two streams holds nothing.
"""

cimport cython
from libc.stdint cimport uint8_t

cdef extern from "compression.h" nogil:
    const char *LJ_LIBRARY
    int64_t lj_inflate_state_length()
    int lj_inflate_start(void *memory)
    int lj_inflate(void *memory, const uint8_t *source, int64_t *length, uint8_t *into, int64_t *room)

#: The library that this was built with.
LIBRARY = LJ_LIBRARY.decode("ascii")


@cython.final
cdef class Inflater:
    """One stream after the other."""

    def __cinit__(self, MemoryBudget budget not None):
        self._budget = budget
        self._state_length = lj_inflate_state_length()

    def __dealloc__(self):
        if self._state != NULL:
            self._budget.give(self._state, self._state_length)

    cdef int32_t open(self) noexcept nogil:
        # Return 1, or 0 where the budget is spent.
        if self._state == NULL:
            self._state = self._budget.take(self._state_length)
            if self._state == NULL:
                return 0
        if lj_inflate_start(self._state) != INFLATE_MORE:
            self.close()
            return 0
        return 1

    cdef int32_t inflate(
        self, AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into, int64_t max_made
    ) except -1 nogil:
        # Use `length` bytes of `source`, fill the room that was reserved in `into`.
        cdef int result
        source.check(offset, length)
        self.used = length
        self.made = min(into.room(), max_made)
        result = lj_inflate(self._state, source._address + offset, &self.used, into.end(), &self.made)
        into.commit(self.made)
        return result

    cdef int32_t close(self) noexcept nogil:
        if self._state == NULL:
            return 0
        self._budget.give(self._state, self._state_length)
        self._state = NULL
        return 1
