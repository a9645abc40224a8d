"""Borrowed references that an agent iterates without the GIL.

Nothing here counts references: the code that adds an object keeps it alive until its removal is confirmed.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
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
        raise MemoryError("cannot allocate a list or a map: free memory, or raise the memory limit")


@cython.final
cdef class PointerList:
    """An ordered list of borrowed references."""

    def __dealloc__(self):
        free(self._items)

    cdef int32_t append(self, PyObject *item) except -1 nogil:
        cdef PyObject **grown
        cdef int32_t capacity
        if self.size == self._capacity:
            capacity = max(INITIAL_CAPACITY, self._capacity * 2)
            grown = <PyObject **>realloc(self._items, capacity * sizeof(PyObject *))
            if grown == NULL:
                return raise_no_memory()
            # Stored only after success: if realloc fails, the old memory and its capacity remain valid.
            self._items = grown
            self._capacity = capacity
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


@cython.final
cdef class QuietList:
    """Borrowed references that wait for a time or for a change of a log, packed for many to be checked in one pass."""

    def __cinit__(self):
        self.earliest_ns = INT64_MAX

    def __dealloc__(self):
        free(self._entries)

    cdef int32_t add(
        self, PyObject *item, int32_t *index, int64_t deadline_ns, const uint64_t *tails, uint64_t seen,
        int32_t attention
    ) except -1 nogil:
        cdef QuietEntry *entry
        cdef int32_t capacity
        if self.size == self._capacity:
            capacity = max(INITIAL_CAPACITY, self._capacity * 2)
            entry = <QuietEntry *>realloc(self._entries, capacity * sizeof(QuietEntry))
            if entry == NULL:
                return raise_no_memory()
            self._entries = entry
            self._capacity = capacity
        entry = self._entries + self.size
        entry.deadline_ns = deadline_ns
        entry.tails = tails
        entry.seen = seen
        entry.item = item
        entry.index = index
        entry.attention = attention
        index[0] = self.size
        self.size += 1
        if attention == WHEN_LOOKING:
            self.earliest_ns = min(self.earliest_ns, deadline_ns)
        self.restless += attention == RESTLESS
        return 0

    cdef void remove(self, int32_t index) noexcept nogil:
        self.restless -= self._entries[index].attention == RESTLESS
        self._entries[index].index[0] = -1
        self.size -= 1
        if index < self.size:
            self._entries[index] = self._entries[self.size]
            self._entries[index].index[0] = index

    cdef void begin(self, int32_t count, bint is_looking) noexcept nogil:
        self._left = count
        self._is_looking = is_looking
        self._found_ns = INT64_MAX
        self._is_whole = count >= self.size
        # From the first one: while items are removed, a turn that begins in the middle would check some twice.
        if self._is_whole:
            self._next = 0

    cdef PyObject *take(self, int64_t now_ns) noexcept nogil:
        cdef QuietEntry *entry
        while self._left > 0 and self.size > 0:
            self._left -= 1
            if self._next >= self.size:
                self._next = 0
            entry = self._entries + self._next
            if entry.deadline_ns <= now_ns or (
                entry.tails != NULL
                and (self._is_looking or entry.attention != WHEN_LOOKING)
                and sum_of_tails(entry.tails) != entry.seen
            ):
                return entry.item
            if entry.attention == WHEN_LOOKING:
                self._found_ns = min(self._found_ns, entry.deadline_ns)
            self._next += 1
        # Later than before only if every entry was checked. Nothing is added during a turn.
        if self._is_whole:
            self.earliest_ns = self._found_ns
            self._is_whole = False
        return NULL


cdef int32_t slot_of(int64_t key, int32_t mask) noexcept nogil:
    # Fibonacci hashing: consecutive ids spread over the table.
    return <int32_t>((<uint64_t>key * HASH_MULTIPLIER) >> 33) & mask


@cython.final
cdef class LongMap:
    """64-bit numbers by 64-bit keys: open addressing, linear probing; allocates only to grow."""

    def __cinit__(self):
        self._allocate(INITIAL_CAPACITY)

    def __dealloc__(self):
        free(self._entries)

    cdef int _allocate(self, int32_t capacity) except -1 nogil:
        cdef LongEntry *entries = <LongEntry *>calloc(capacity, sizeof(LongEntry))
        # Checked before the stores below: if calloc fails, a map that grows keeps its entries.
        if entries == NULL:
            return raise_no_memory()
        self._entries = entries
        self.capacity = capacity
        self.size = 0
        return 0

    cdef int64_t get(self, int64_t key, int64_t missing) noexcept nogil:
        cdef int32_t mask = self.capacity - 1
        cdef int32_t slot = slot_of(key, mask)
        while self._entries[slot].is_used:
            if self._entries[slot].key == key:
                return self._entries[slot].value
            slot = (slot + 1) & mask
        return missing

    cdef int32_t put(self, int64_t key, int64_t value) except -1 nogil:
        cdef int32_t mask, slot
        if (self.size + 1) * 3 > self.capacity * 2:
            self._grow()
        mask = self.capacity - 1
        slot = slot_of(key, mask)
        while self._entries[slot].is_used and self._entries[slot].key != key:
            slot = (slot + 1) & mask
        if not self._entries[slot].is_used:
            self.size += 1
        self._entries[slot].key = key
        self._entries[slot].value = value
        self._entries[slot].is_used = True
        return self.size

    cdef int _grow(self) except -1 nogil:
        cdef LongEntry *entries = self._entries
        cdef int32_t capacity = self.capacity
        cdef int32_t i
        self._allocate(capacity * 2)
        for i in range(capacity):
            if entries[i].is_used:
                self.put(entries[i].key, entries[i].value)
        free(entries)
        return 0

    cdef bint remove(self, int64_t key) noexcept nogil:
        cdef int32_t mask = self.capacity - 1
        cdef int32_t slot = slot_of(key, mask)
        cdef int32_t following, home
        while self._entries[slot].is_used and self._entries[slot].key != key:
            slot = (slot + 1) & mask
        if not self._entries[slot].is_used:
            return False
        # Move later entries of the probe sequence into the gap: a search stops at the first unused slot, so a gap would
        # hide the entries after it.
        following = slot
        while True:
            following = (following + 1) & mask
            if not self._entries[following].is_used:
                break
            home = slot_of(self._entries[following].key, mask)
            if ((following - home) & mask) >= ((following - slot) & mask):
                self._entries[slot] = self._entries[following]
                slot = following
        self._entries[slot].is_used = False
        self.size -= 1
        return True

    # The methods below are for tests and inspection from Python; agents call the C methods above.
    def __setitem__(self, int64_t key, int64_t value):
        self.put(key, value)

    def __getitem__(self, int64_t key):
        if not self.__contains__(key):
            raise KeyError(f"no value for key {key}: must be one of the keys in the map")
        return self.get(key, 0)

    def __contains__(self, int64_t key):
        return self.get(key, 0) != 0 or self.get(key, 1) == 0

    def __delitem__(self, int64_t key):
        if not self.remove(key):
            raise KeyError(f"no value for key {key}: must be one of the keys in the map")

    def __len__(self):
        return self.size

    def items(self):
        """Return all (key, value) pairs, in no particular order."""
        return [(self._entries[i].key, self._entries[i].value) for i in range(self.capacity) if self._entries[i].is_used]


@cython.final
cdef class PointerMap:
    """Borrowed references by a 64-bit key."""

    def __cinit__(self):
        self._map = LongMap()
