cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.buffer cimport (
    AtomicBuffer,
    ac_compare_and_set_i64,
    ac_get_and_add_i64,
    ac_get_i64,
    ac_get_i64_acquire,
    ac_put_i64,
    ac_put_i64_release,
)

cdef int raise_read_only(int32_t counter_id) except -1 nogil


@cython.final
cdef class AtomicCounter:
    cdef readonly int32_t id              # index of the counter's records
    cdef readonly AtomicBuffer buffer     # values of all counters of the file; keeps the memory alive
    cdef int64_t _offset                  # of the counter's record in `buffer`
    cdef uint8_t *_address                # of the value; bounds checked once, by the constructor
    cdef bint _writable

    # Not noexcept: a store to a file mapped read-only would kill the process with SIGSEGV.
    cdef inline int check_writable(self) except -1 nogil:
        if not self._writable:
            return raise_read_only(self.id)
        return 0

    cpdef inline int64_t get(self) noexcept nogil:
        return ac_get_i64(self._address)

    cpdef inline int64_t get_acquire(self) noexcept nogil:
        return ac_get_i64_acquire(self._address)

    cpdef inline int set(self, int64_t value) except -1 nogil:
        self.check_writable()
        ac_put_i64(self._address, value)
        return 0

    cpdef inline int set_release(self, int64_t value) except -1 nogil:
        self.check_writable()
        ac_put_i64_release(self._address, value)
        return 0

    cpdef inline int64_t increment_release(self) except? -1985229329 nogil:
        self.check_writable()
        cdef int64_t value = ac_get_i64(self._address)
        ac_put_i64_release(self._address, value + 1)
        return value

    cpdef inline int64_t get_and_add(self, int64_t delta) except? -1985229329 nogil:
        self.check_writable()
        return ac_get_and_add_i64(self._address, delta)

    cpdef inline bint propose_max_release(self, int64_t value) except -1 nogil:
        self.check_writable()
        if ac_get_i64(self._address) < value:
            ac_put_i64_release(self._address, value)
            return True
        return False

    cpdef inline bint raise_to(self, int64_t value) except -1 nogil:
        self.check_writable()
        cdef int64_t current = ac_get_i64(self._address)
        while current < value:
            if ac_compare_and_set_i64(self._address, current, value):
                return True
            current = ac_get_i64(self._address)
        return False
