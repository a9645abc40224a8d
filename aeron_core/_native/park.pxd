from libc.stdint cimport int64_t

cdef extern from "park.h" nogil:
    void ac_pause() noexcept
    void ac_yield() noexcept
    void ac_sleep_ns(int64_t ns) noexcept
