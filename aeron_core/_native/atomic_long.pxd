cimport cython
from libc.stdint cimport int64_t, uint8_t

cdef extern from "atomics.h" nogil:
    int64_t ac_get_i64_acquire(const uint8_t *p) noexcept
    void ac_put_i64_release(uint8_t *p, int64_t v) noexcept


@cython.final
cdef class AtomicLong:
    cdef int64_t _value

    cpdef inline int64_t get_acquire(self) noexcept nogil:
        return ac_get_i64_acquire(<const uint8_t *>&self._value)

    cpdef inline void set_release(self, int64_t value) noexcept nogil:
        ac_put_i64_release(<uint8_t *>&self._value, value)
