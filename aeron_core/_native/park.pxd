from libc.stdint cimport int64_t

cdef extern from "park.h" nogil:
    void ac_pause() noexcept
    void ac_yield() noexcept
    void ac_sleep_ns(int64_t ns) noexcept


cpdef inline void pause() noexcept nogil:
    ac_pause()


cpdef inline void yield_thread() noexcept nogil:
    ac_yield()


cpdef inline void sleep_ns(int64_t duration_ns) noexcept nogil:
    ac_sleep_ns(duration_ns)
