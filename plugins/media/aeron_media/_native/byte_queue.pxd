cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aeron_core._native.buffer cimport AtomicBuffer

cdef enum:
    SPARE_COUNT = 4


@cython.final
cdef class MemoryBudget:
    cdef readonly int64_t limit        # bytes that may be in use at a time
    cdef readonly int64_t used         # bytes in use; spare blocks do not count
    cdef readonly int64_t failures     # allocations within the limit for which the process had no memory
    cdef int64_t _spares[SPARE_COUNT]  # addresses of spare blocks, 0 for none

    cdef void *allocate(self, int64_t length) noexcept nogil
    cdef int64_t release(self, void *memory, int64_t length) noexcept nogil
    cdef void *_take_spare(self, int64_t length) noexcept nogil
    cdef int32_t _keep(self, void *memory) noexcept nogil


@cython.final
cdef class ByteQueue:
    cdef MemoryBudget _budget
    cdef int64_t _lead                    # bytes kept free before the first byte
    cdef uint8_t *_memory                 # NULL while no memory is allocated
    cdef readonly int64_t capacity        # allocated bytes
    cdef readonly int64_t max_capacity
    cdef readonly int64_t start           # offset of the first byte in `buffer`
    cdef readonly int64_t size            # bytes in the queue
    cdef readonly bint lacks_budget       # the last `reserve` failed for lack of budget or memory
    cdef AtomicBuffer buffer              # all of the memory; may change with each `reserve` and `release`

    cdef inline uint8_t *first(self) noexcept nogil:
        return self._memory + self.start

    # Return the end of the bytes in the queue, where the reserved space begins.
    cdef inline uint8_t *end(self) noexcept nogil:
        return self._memory + self.start + self.size

    cdef inline int64_t free_length(self) noexcept nogil:
        return self.capacity - self.start - self.size

    # Add bytes that were written into the reserved space.
    cdef inline int64_t commit(self, int64_t length) noexcept nogil:
        self.size += min(max(length, 0), self.free_length())
        return self.size

    cdef inline int64_t drop(self, int64_t length) noexcept nogil:
        self.size -= min(max(length, 0), self.size)
        return self.size

    # Append bytes; the space for them must have been reserved.
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
