"""Byte queue: buffers the bytes of a connection; it grows up to a bound, and frees its memory on request when empty.

Not here: the meaning of the bytes. A queue is used by one thread at a time; the queues of a budget may be used by
several threads.
Invariant: the queues of a budget never use more than its limit, and the bytes of a queue are contiguous.
"""

cimport cython
from libc.stdint cimport intptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

from aeron_core._native.buffer cimport ac_compare_and_set_i64, ac_get_and_add_i64, ac_get_i64_acquire

cdef enum:
    MIN_CAPACITY = 4096
    # Only blocks of these lengths are reused: shorter ones are cheap to allocate, longer ones would waste memory.
    # Invented, like MIN_CAPACITY.
    MIN_SPARE_LENGTH = 65536
    MAX_SPARE_LENGTH = 262144


cdef int64_t exchange(int64_t *slot, int64_t value) noexcept nogil:
    cdef int64_t found
    while True:
        found = ac_get_i64_acquire(<uint8_t *>slot)
        if ac_compare_and_set_i64(<uint8_t *>slot, found, value):
            return found


@cython.final
cdef class MemoryBudget:
    """Limit of the bytes that several queues use together, on any thread.

    Raises ValueError if `limit` is negative. Keeps up to SPARE_COUNT freed blocks for reuse, which do not count.
    """

    def __cinit__(self, int64_t limit):
        if limit < 0:
            raise ValueError(f"limit={limit}: must be at least 0 bytes")
        self.limit = limit

    def __dealloc__(self):
        cdef int i
        for i in range(SPARE_COUNT):
            free(<void *><intptr_t>self._spares[i])

    cdef void *allocate(self, int64_t length) noexcept nogil:
        # Return NULL if the budget or the memory of the process is exhausted, or `length` is not positive.
        cdef void *memory
        if length <= 0:
            return NULL
        if length > self.limit - ac_get_and_add_i64(<uint8_t *>&self.used, length):
            ac_get_and_add_i64(<uint8_t *>&self.used, -length)
            return NULL
        memory = self._take_spare(length)
        if memory == NULL:
            memory = malloc(length)
        if memory == NULL:
            ac_get_and_add_i64(<uint8_t *>&self.failures, 1)
            ac_get_and_add_i64(<uint8_t *>&self.used, -length)
        return memory

    cdef int64_t release(self, void *memory, int64_t length) noexcept nogil:
        ac_get_and_add_i64(<uint8_t *>&self.used, -length)
        if MIN_SPARE_LENGTH <= length <= MAX_SPARE_LENGTH:
            (<int64_t *>memory)[0] = length
            self._keep(memory)
        else:
            free(memory)
        return self.used

    cdef void *_take_spare(self, int64_t length) noexcept nogil:
        cdef void *memory
        cdef int i
        if not MIN_SPARE_LENGTH <= length <= MAX_SPARE_LENGTH:
            return NULL
        for i in range(SPARE_COUNT):
            # Take the block out of its slot before reading it: otherwise another thread might take and free it.
            memory = <void *><intptr_t>exchange(&self._spares[i], 0)
            if memory != NULL:
                if (<int64_t *>memory)[0] == length:
                    return memory
                self._keep(memory)
        return NULL

    cdef int32_t _keep(self, void *memory) noexcept nogil:
        cdef int i
        for i in range(SPARE_COUNT):
            if ac_compare_and_set_i64(<uint8_t *>&self._spares[i], 0, <int64_t><intptr_t>memory):
                return 1
        # The most recently freed block is the most likely to be reused: replace an older one.
        free(<void *><intptr_t>exchange(&self._spares[0], <int64_t><intptr_t>memory))
        return 0

    def __repr__(self):
        return f"MemoryBudget(limit={self.limit}, used={self.used})"


@cython.final
cdef class ByteQueue:
    """First-in, first-out queue of at most `max_capacity - lead` bytes; all lengths are bytes.

    While it has memory, at least `lead` bytes before the first one are free. `reserve`, `append` and `release` may move
    or free the memory, which invalidates pointers to it. Raises ValueError if `lead` is negative, or `max_capacity` is
    not more than `lead`.
    """

    def __cinit__(self, MemoryBudget budget not None, int64_t max_capacity, int64_t lead=0):
        if lead < 0:
            raise ValueError(f"lead={lead}: must be at least 0 bytes")
        if max_capacity <= lead:
            raise ValueError(f"max_capacity={max_capacity}: must be more than lead={lead} bytes")
        self._budget = budget
        self.max_capacity = max_capacity
        self._lead = lead
        self.buffer = AtomicBuffer.wrap(NULL, 0, None, False)

    def __dealloc__(self):
        if self._memory != NULL:
            self._budget.release(self._memory, self.capacity)

    cpdef int32_t reserve(self, int64_t length) noexcept nogil:
        # Make space for `length` bytes after those in the queue; return 1, or 0 if `max_capacity` or the budget would be
        # exceeded, or the process has no memory.
        cdef int64_t needed
        cdef int64_t capacity = self.capacity
        self.lacks_budget = False
        if length <= self.free_length():
            return 1
        if length > self.max_capacity - self._lead - self.size:
            return 0
        needed = self._lead + self.size + length
        if needed <= capacity:
            memmove(self._memory + self._lead, self._memory + self.start, self.size)
            self.start = self._lead
            return 1
        capacity = max(capacity, MIN_CAPACITY)
        while capacity < needed:
            capacity *= 2
        # If the budget is too small for doubling, allocate the exact length.
        return self._move(min(capacity, self.max_capacity)) or self._move(needed)

    cdef int32_t _move(self, int64_t capacity) noexcept nogil:
        cdef void *memory = self._budget.allocate(capacity)
        if memory == NULL:
            self.lacks_budget = True
            return 0
        if self._memory != NULL:
            memcpy(<uint8_t *>memory + self._lead, self._memory + self.start, self.size)
            self._budget.release(self._memory, self.capacity)
        self._memory = <uint8_t *>memory
        self.capacity = capacity
        self.start = self._lead
        self.buffer._address = self._memory
        self.buffer.capacity = capacity
        self.buffer._writable = capacity
        return 1

    cpdef int64_t consume(self, int64_t length) noexcept nogil:
        # Remove bytes from the front; return how many are left.
        cdef int64_t consumed = min(max(length, 0), self.size)
        self.size -= consumed
        self.start = min(self._lead, self.capacity) if self.size == 0 else self.start + consumed
        return self.size

    cpdef int32_t append(self, AtomicBuffer source, int64_t offset, int64_t length) except -1 nogil:
        source.check(offset, length)
        if not self.reserve(length):
            return 0
        if length > 0:
            self.write(source._address + offset, length)
        return 1

    cpdef int32_t release(self) noexcept nogil:
        # Free the memory if the queue is empty; return whether it was.
        if self.size != 0:
            return 0
        if self._memory != NULL:
            self._budget.release(self._memory, self.capacity)
            self._memory = NULL
            self.capacity = 0
            self.start = 0
            self.buffer._address = NULL
            self.buffer.capacity = 0
            self.buffer._writable = 0
        return 1

    def to_bytes(self):
        """Return a copy of all bytes in the queue."""
        return <bytes>(<char *>self.first())[:self.size] if self.size else b""

    def __len__(self):
        return self.size

    def __repr__(self):
        return f"ByteQueue(size={self.size}, capacity={self.capacity}, max_capacity={self.max_capacity})"
