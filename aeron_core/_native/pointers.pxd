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


cdef struct QuietEntry:
    int64_t deadline_ns     # due at this time
    const uint64_t *tails   # three counters in a log, or NULL
    uint64_t seen           # their sum, as last seen: they only grow
    PyObject *item
    int32_t *index          # of the entry, kept for its owner
    int32_t attention


# Kinds of attention to the tails of an entry.
cdef enum:
    WHEN_LOOKING            # looked at if the caller of `begin` wants to
    ALWAYS                  # looked at in each turn; has no timers, so that it may be visited later than its time
    RESTLESS                # as ALWAYS, and counted


@cython.final
cdef class QuietList:
    cdef QuietEntry *_entries
    cdef readonly int32_t size
    cdef readonly int32_t restless  # entries with the attention RESTLESS
    cdef readonly int64_t earliest_ns   # no entry with timers is due before it
    cdef int32_t joins              # of items so far, counted by them
    cdef int32_t _capacity
    cdef int32_t _next              # index
    cdef int32_t _left              # entries to check since `begin`
    cdef int64_t _found_ns          # earliest time of those checked since `begin`
    cdef bint _is_whole             # the turn is one of all entries
    cdef bint _is_looking

    # Add an item, whose `index` is kept up to date, and is -1 once the item is removed.
    cdef int32_t add(
        self, PyObject *item, int32_t *index, int64_t deadline_ns, const uint64_t *tails, uint64_t seen,
        int32_t attention
    ) except -1 nogil
    # The last entry takes the place of the removed one.
    cdef void remove(self, int32_t index) noexcept nogil
    # Begin a turn of `count` entries. One of all entries checks each of them.
    cdef void begin(self, int32_t count, bint is_looking) noexcept nogil
    # Return the next item of the turn that is due or has other tails, NULL at its end. The caller removes it.
    cdef PyObject *take(self, int64_t now_ns) noexcept nogil


cdef extern from *:
    """
    #include <stdint.h>
    /* Tails of a log are only added to, so that their sum changes with each of them. It orders nothing. */
    static inline uint64_t ac_sum_of_tails(const uint64_t *tails)
    {
        return __atomic_load_n(tails, __ATOMIC_RELAXED) + __atomic_load_n(tails + 1, __ATOMIC_RELAXED)
            + __atomic_load_n(tails + 2, __ATOMIC_RELAXED);
    }
    """
    uint64_t sum_of_tails "ac_sum_of_tails"(const uint64_t *tails) noexcept nogil


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
