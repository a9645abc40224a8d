cimport cython
from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec


cdef inline int64_t read_clock(int clock) noexcept nogil:
    cdef timespec now
    clock_gettime(clock, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


@cython.final
cdef class Clock:
    cdef readonly bint is_manual
    cdef int64_t _now_ns    # manual only: monotonic time
    cdef int64_t _epoch_ns  # manual only: wall-clock time when `_now_ns` is 0

    cpdef inline int64_t nano_time(self) noexcept nogil:
        return self._now_ns if self.is_manual else read_clock(CLOCK_MONOTONIC)

    cpdef inline int64_t epoch_ns(self) noexcept nogil:
        return self._epoch_ns + self._now_ns if self.is_manual else read_clock(CLOCK_REALTIME)

    cpdef inline int64_t epoch_ms(self) noexcept nogil:
        return self.epoch_ns() // 1000000
