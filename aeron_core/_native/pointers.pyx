"""Borrowed references that an agent walks without the GIL.

Nothing here counts references: whoever adds an object keeps it alive until its removal is confirmed.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

cdef extern from *:
    """
    #define AC_HASH_MULTIPLIER 0x9E3779B97F4A7C15ull  /* 2^64 / golden ratio */
    """
    uint64_t HASH_MULTIPLIER "AC_HASH_MULTIPLIER"

cdef enum:
    INITIAL_CAPACITY = 16


cdef int raise_no_memory() except -1 nogil:
    with gil:
        raise MemoryError("cannot grow a list of borrowed references")


@cython.final
cdef class PointerList:
    """An ordered list of borrowed references."""

    def __dealloc__(self):
        free(self._items)

    cdef int32_t append(self, PyObject *item) except -1 nogil:
        cdef PyObject **grown
        if self.size == self._capacity:
            self._capacity = max(INITIAL_CAPACITY, self._capacity * 2)
            grown = <PyObject **>realloc(self._items, self._capacity * sizeof(PyObject *))
            if grown == NULL:
                return raise_no_memory()
            self._items = grown
        self._items[self.size] = item
        self.size += 1
        return self.size

    cdef bint remove(self, PyObject *item) noexcept nogil:
        cdef int32_t i, j
        for i in range(self.size):
            if self._items[i] == item:
                self.size -= 1
                for j in range(i, self.size):
                    self._items[j] = self._items[j + 1]
                return True
        return False

    cdef bint contains(self, PyObject *item) noexcept nogil:
        cdef int32_t i
        for i in range(self.size):
            if self._items[i] == item:
                return True
        return False


cdef int32_t slot_of(int64_t key, int32_t mask) noexcept nogil:
    # Fibonacci hashing: ids that follow one another spread over the table.
    return <int32_t>((<uint64_t>key * HASH_MULTIPLIER) >> 33) & mask


@cython.final
cdef class PointerMap:
    """Borrowed references by a 64-bit key: open addressing, linear probing."""

    def __cinit__(self):
        self._allocate(INITIAL_CAPACITY)

    def __dealloc__(self):
        free(self._keys)
        free(self._values)

    cdef int _allocate(self, int32_t capacity) except -1 nogil:
        self._keys = <int64_t *>calloc(capacity, sizeof(int64_t))
        self._values = <PyObject **>calloc(capacity, sizeof(PyObject *))
        if self._keys == NULL or self._values == NULL:
            return raise_no_memory()
        self._capacity = capacity
        self.size = 0
        return 0

    cdef PyObject *get(self, int64_t key) noexcept nogil:
        cdef int32_t mask = self._capacity - 1
        cdef int32_t slot = slot_of(key, mask)
        while self._values[slot] != NULL:
            if self._keys[slot] == key:
                return self._values[slot]
            slot = (slot + 1) & mask
        return NULL

    cdef int32_t put(self, int64_t key, PyObject *value) except -1 nogil:
        cdef int32_t mask, slot
        if (self.size + 1) * 3 > self._capacity * 2:
            self._grow()
        mask = self._capacity - 1
        slot = slot_of(key, mask)
        while self._values[slot] != NULL and self._keys[slot] != key:
            slot = (slot + 1) & mask
        if self._values[slot] == NULL:
            self.size += 1
        self._keys[slot] = key
        self._values[slot] = value
        return self.size

    cdef int _grow(self) except -1 nogil:
        cdef int64_t *keys = self._keys
        cdef PyObject **values = self._values
        cdef int32_t capacity = self._capacity
        cdef int32_t i
        self._allocate(capacity * 2)
        for i in range(capacity):
            if values[i] != NULL:
                self.put(keys[i], values[i])
        free(keys)
        free(values)
        return 0

    cdef PyObject *remove(self, int64_t key) noexcept nogil:
        cdef int32_t mask = self._capacity - 1
        cdef int32_t slot = slot_of(key, mask)
        cdef int32_t following, home
        cdef PyObject *removed
        while self._values[slot] != NULL and self._keys[slot] != key:
            slot = (slot + 1) & mask
        removed = self._values[slot]
        if removed == NULL:
            return NULL
        # Close the hole, so that a search never stops before an entry that was pushed along.
        following = slot
        while True:
            following = (following + 1) & mask
            if self._values[following] == NULL:
                break
            home = slot_of(self._keys[following], mask)
            if ((following - home) & mask) >= ((following - slot) & mask):
                self._keys[slot] = self._keys[following]
                self._values[slot] = self._values[following]
                slot = following
        self._values[slot] = NULL
        self.size -= 1
        return removed
