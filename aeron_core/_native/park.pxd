cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "park.h" nogil:
    void ac_pause() noexcept
    void ac_yield() noexcept
    void ac_sleep_ns(int64_t ns) noexcept
    bint ac_bell_is_armed(const int32_t *flag) noexcept
    void ac_bell_set(int32_t *flag, int32_t value) noexcept
    void ac_bell_ring(int32_t *flag, int pipe) noexcept
    void ac_bell_fence() noexcept
    void ac_bell_push(int pipe) noexcept
    bint ac_bell_wait(int waited, int pipe, int64_t ns) noexcept
    int ac_bell_set_open() noexcept
    bint ac_bell_watch(int set, int watched) noexcept
    enum:
        AC_PIPES
    bint ac_mask_set(int32_t *mask, int number) noexcept
    bint ac_mask_has(const int32_t *mask, int number) noexcept
    void ac_mask_ring(int32_t *mask, int folder, int *pipes) noexcept


cpdef inline void pause() noexcept nogil:
    ac_pause()


cpdef inline void yield_thread() noexcept nogil:
    ac_yield()


cpdef inline void sleep_ns(int64_t duration_ns) noexcept nogil:
    ac_sleep_ns(duration_ns)


@cython.final
cdef class StreamBells:
    cdef AtomicBuffer _memory
    cdef int64_t _offset     # of the masks in `_memory`
    cdef int64_t _count
    cdef int _folder         # its descriptor, -1 without one
    cdef int _pipes[AC_PIPES]  # by number, -1 until used

    cdef int32_t *_mask_of(self, int64_t correlation_id) except NULL


@cython.final
cdef class Bell:
    cdef int32_t *_flag      # 1 while the thread waits, or is about to; in `_memory`, or `_silent`; or a mask
    cdef StreamBells _streams  # None for the bell of a thread
    cdef AtomicBuffer _memory
    cdef int32_t _silent     # the flag of a bell without a pipe, always 0
    cdef int _pipe           # -1 without one
    cdef int _set            # of epoll: the pipe and the watched descriptors; -1 in ringing processes

    # Wake the thread if it waits; costs one load if it does not. A ring at the very moment at which the thread begins
    # to wait may be lost: the store that it announces may still be in the store buffer of the processor.
    cdef inline void ring(self) noexcept nogil:
        if ac_bell_is_armed(self._flag):
            self._ring()

    # The same with a fence, for rings of which none is lost: once for a batch of messages.
    cdef inline void ring_surely(self) noexcept nogil:
        ac_bell_fence()
        self.ring()

    cdef void _ring(self) noexcept nogil

    cdef inline bint is_armed(self) noexcept nogil:
        return ac_bell_is_armed(self._flag)

    # The fence: loads after it, which order nothing themselves, are not made before the flag is set. They see what was
    # stored before any ring that found it 0.
    cdef inline void arm(self) noexcept nogil:
        ac_bell_set(self._flag, 1)
        ac_bell_fence()

    cdef inline void disarm(self) noexcept nogil:
        if ac_bell_is_armed(self._flag):
            ac_bell_set(self._flag, 0)

    cdef bint wait(self, int64_t timeout_ns, bint is_watching) noexcept nogil
