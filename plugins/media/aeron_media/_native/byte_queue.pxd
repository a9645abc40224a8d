cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aeron_core._native.buffer cimport AtomicBuffer

cdef enum:
    SPARE_COUNT = 4


@cython.final
cdef class MemoryBudget:
    cdef readonly int64_t limit        # bytes that may be used at a time
    cdef readonly int64_t used         # bytes that are lent; those kept to be lent again do not count
    cdef int64_t _spares[SPARE_COUNT]  # addresses of memory that is kept, 0 where there is none

    cdef void *take(self, int64_t length) noexcept nogil
    cdef int64_t give(self, void *memory, int64_t length) noexcept nogil
    cdef void *_take_spare(self, int64_t length) noexcept nogil
    cdef int32_t _keep(self, void *memory) noexcept nogil


@cython.final
cdef class ByteQueue:
    cdef MemoryBudget _budget
    cdef int64_t _lead                    # bytes before the first one that are nobody's
    cdef uint8_t *_memory                 # NULL while nothing is held
    cdef readonly int64_t capacity        # bytes held
    cdef readonly int64_t max_capacity
    cdef readonly int64_t start           # of the first byte, in `buffer`
    cdef readonly int64_t size            # bytes in the queue
    cdef readonly bint lacks_budget       # whether the last `reserve` failed for the budget, not for the bound
    cdef AtomicBuffer buffer              # all of the memory; another one after each `reserve` and `release`

    cdef inline uint8_t *first(self) noexcept nogil:
        return self._memory + self.start

    # Where the room begins that `reserve` has made.
    cdef inline uint8_t *end(self) noexcept nogil:
        return self._memory + self.start + self.size

    cdef inline int64_t room(self) noexcept nogil:
        return self.capacity - self.start - self.size

    # Take what was written behind the end into the queue.
    cdef inline int64_t commit(self, int64_t length) noexcept nogil:
        self.size += min(max(length, 0), self.room())
        return self.size

    cdef inline int64_t drop(self, int64_t length) noexcept nogil:
        self.size -= min(max(length, 0), self.size)
        return self.size

    # `length` bytes of `source`; the room for them must have been reserved.
    cdef inline void write(self, const uint8_t *source, int64_t length) noexcept nogil:
        memcpy(self.end(), source, length)
        self.size += length

    cdef inline void write_u8(self, uint8_t value) noexcept nogil:
        self.end()[0] = value
        self.size += 1

    cdef int32_t _move(self, int64_t capacity) noexcept nogil
    cpdef int32_t reserve(self, int64_t length) noexcept nogil
    cpdef int64_t consume(self, int64_t length) noexcept nogil
    cpdef int32_t append(self, AtomicBuffer source, int64_t offset, int64_t length) except -1 nogil
    cpdef int32_t release(self) noexcept nogil
