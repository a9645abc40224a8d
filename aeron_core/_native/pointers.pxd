cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t


@cython.final
cdef class PointerList:
    cdef PyObject **_items
    cdef readonly int32_t size
    cdef int32_t _capacity

    cdef inline PyObject *at(self, int32_t index) noexcept nogil:
        return self._items[index]

    cdef int32_t append(self, PyObject *item) except -1 nogil
    cdef bint remove(self, PyObject *item) noexcept nogil
    cdef bint contains(self, PyObject *item) noexcept nogil

    # Remove an item in constant time: the last one takes its index.
    cdef inline void replace_by_last(self, int32_t index) noexcept nogil:
        self.size -= 1
        self._items[index] = self._items[self.size]


cdef struct LongEntry:
    int64_t key
    int64_t value
    bint is_used


@cython.final
cdef class LongMap:
    cdef LongEntry *_entries
    cdef readonly int32_t capacity  # slots: a power of two, at most two thirds used
    cdef readonly int32_t size

    # To iterate: visit the used slots from 0 to `capacity` - 1, without calling `put`. Removing the entry of a slot may
    # move an entry of another slot there: visit the slot again until it is unused or its entry is kept. Each entry is
    # then visited at least once.
    cdef inline bint is_used(self, int32_t slot) noexcept nogil:
        return self._entries[slot].is_used

    cdef inline int64_t key_at(self, int32_t slot) noexcept nogil:
        return self._entries[slot].key

    cdef inline int64_t value_at(self, int32_t slot) noexcept nogil:
        return self._entries[slot].value

    cdef int _allocate(self, int32_t capacity) except -1 nogil
    cdef int _grow(self) except -1 nogil
    cdef int64_t get(self, int64_t key, int64_t missing) noexcept nogil
    cdef int32_t put(self, int64_t key, int64_t value) except -1 nogil
    cdef bint remove(self, int64_t key) noexcept nogil


@cython.final
cdef class PointerMap:
    cdef LongMap _map

    cdef inline PyObject *get(self, int64_t key) noexcept nogil:
        return <PyObject *><intptr_t>self._map.get(key, 0)

    cdef inline int32_t put(self, int64_t key, PyObject *value) except -1 nogil:
        return self._map.put(key, <int64_t><intptr_t>value)

    cdef inline bint remove(self, int64_t key) noexcept nogil:
        return self._map.remove(key)

    cdef inline int32_t size(self) noexcept nogil:
        return self._map.size

    # To iterate: visit the used slots from 0 to `capacity()` - 1, without calling `put`; after the removal of the entry
    # of a slot, visit the slot again.
    cdef inline PyObject *at_slot(self, int32_t slot) noexcept nogil:
        return <PyObject *><intptr_t>self._map.value_at(slot)

    cdef inline int32_t capacity(self) noexcept nogil:
        return self._map.capacity

    cdef inline bint is_used(self, int32_t slot) noexcept nogil:
        return self._map.is_used(slot)

    cdef inline int64_t key_at(self, int32_t slot) noexcept nogil:
        return self._map.key_at(slot)


cdef inline int64_t pair_key(int32_t high, int32_t low) noexcept nogil:
    # Without a sign: a negative number must not be shifted.
    return <int64_t>((<uint64_t><uint32_t>high << 32) | <uint32_t>low)
