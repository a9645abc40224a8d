"""Compression to the zlib format (RFC 1950), piece by piece, with ISA-L or zlib.

The meaning of levels 1 to 9 depends on the library; any zlib can decompress the output. The state of a stream is
allocated from a memory budget and kept for the next stream until `close`: it is too large to allocate per stream.
"""

cimport cython
from libc.stdint cimport uint8_t

cdef extern from "compression.h" nogil:
    int64_t lj_deflate_state_length(int level)
    int lj_deflate_start(void *memory, int level)
    int lj_deflate(void *memory, const uint8_t *source, int64_t *length, uint8_t *into, int64_t *space, int is_last)

cdef enum:
    STREAM_MORE = 0
    STREAM_FINISHED = 1
    # Minimum output space of one call of the library, which is repeated until all input is consumed. Invented.
    MIN_OUTPUT_LENGTH = 4096


@cython.final
cdef class Deflater:
    """Compressor of one stream at a time; the object is reused. Raises ValueError for a level that is not 1 to 9."""

    def __cinit__(self, int32_t level, MemoryBudget budget not None):
        if not 1 <= level <= 9:
            raise ValueError(f"level={level}: must be from 1 to 9")
        self.level = level
        self._budget = budget
        self._state_length = lj_deflate_state_length(level)

    def __dealloc__(self):
        if self._state != NULL:
            self._budget.release(self._state, self._state_length)

    cdef int32_t start(self) noexcept nogil:
        # Begin a stream and drop an unfinished one; return 1, or 0 if the budget is exhausted or the library
        # cannot start.
        if self._state == NULL:
            self._state = self._budget.allocate(self._state_length)
            if self._state == NULL:
                return 0
        if lj_deflate_start(self._state, self.level) != STREAM_MORE:
            self.close()
            return 0
        return 1

    cdef int32_t deflate(
        self, AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into, bint is_last
    ) except -1 nogil:
        cdef int64_t used, made
        cdef int result
        source.check(offset, length)
        while True:
            if into.free_length() < MIN_OUTPUT_LENGTH and not into.reserve(MIN_OUTPUT_LENGTH):
                return DEFLATE_NO_MEMORY
            used = length
            made = into.free_length()
            result = lj_deflate(self._state, source._address + offset, &used, into.end(), &made, is_last)
            into.commit(made)
            offset += used
            length -= used
            if result == DEFLATE_BROKEN:
                return DEFLATE_BROKEN
            if result == STREAM_FINISHED or (not is_last and length == 0 and into.free_length() > 0):
                return DEFLATE_DONE

    cpdef int32_t close(self) noexcept nogil:
        # Free the state and drop an unfinished stream; return whether there was a state.
        if self._state == NULL:
            return 0
        self._budget.release(self._state, self._state_length)
        self._state = NULL
        return 1
