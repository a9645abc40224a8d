"""Decompression of the zlib format (RFC 1950), piece by piece, with ISA-L or zlib.

Not here: limits of the output. The state of a stream is allocated from a memory budget between `open` and `close`:
an inflater without an open stream holds no memory.
"""

cimport cython
from libc.stdint cimport uint8_t

cdef extern from "compression.h" nogil:
    const char *LJ_LIBRARY
    int64_t lj_inflate_state_length()
    int lj_inflate_start(void *memory)
    int lj_inflate(void *memory, const uint8_t *source, int64_t *length, uint8_t *into, int64_t *space)

#: Name of the compression library with which this module was built.
LIBRARY = LJ_LIBRARY.decode("ascii")


@cython.final
cdef class Inflater:
    """Decompressor of one stream at a time; the object is reused."""

    def __cinit__(self, MemoryBudget budget not None):
        self._budget = budget
        self._state_length = lj_inflate_state_length()

    def __dealloc__(self):
        if self._state != NULL:
            self._budget.release(self._state, self._state_length)

    cdef int32_t open(self) noexcept nogil:
        # Begin a stream and drop an unfinished one; return 1, or 0 if the budget is exhausted or the library cannot
        # start.
        if self._state == NULL:
            self._state = self._budget.allocate(self._state_length)
            if self._state == NULL:
                return 0
        if lj_inflate_start(self._state) != INFLATE_MORE:
            self.close()
            return 0
        return 1

    cdef int32_t inflate(
        self, AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into, int64_t max_made
    ) except -1 nogil:
        # Inflate up to `length` bytes of `source` into the space reserved in `into`, at most `max_made` bytes of
        # output. Set `used` and `made`; return an INFLATE_….
        cdef int result
        source.check(offset, length)
        self.used = length
        self.made = min(into.free_length(), max_made)
        result = lj_inflate(self._state, source._address + offset, &self.used, into.end(), &self.made)
        into.commit(self.made)
        return result

    cdef int32_t close(self) noexcept nogil:
        if self._state == NULL:
            return 0
        self._budget.release(self._state, self._state_length)
        self._state = NULL
        return 1
