"""Spin lock for agents: an agent uses `try_take`, and retries in its next duty cycle if the lock is taken.

Only `take` waits. Use it for short and rare changes.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t

from aeron_core._native.buffer cimport ac_compare_and_set_i64, ac_put_i64_release

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState:
        pass
    int PyGILState_Check()
    PyThreadState *PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState *state)

cdef extern from "park.h" nogil:
    void ac_pause()
    void ac_yield()

cdef enum:
    SPINS = 100


# The thread that holds the lock may be waiting for this core, or for the GIL if it raises or calls Python: release
# both.
cdef void leave_to_others() noexcept nogil:
    cdef PyThreadState *state = NULL
    if PyGILState_Check():
        state = PyEval_SaveThread()
    ac_yield()
    if state != NULL:
        PyEval_RestoreThread(state)


@cython.final
cdef class SpinLock:
    """Lock that one thread holds at a time; not reentrant."""

    cpdef bint try_take(self) noexcept nogil:
        # The compare-and-set includes acquire, which pairs with the release in `give`: the new holder sees all stores
        # of the previous one.
        return ac_compare_and_set_i64(<uint8_t *>&self._is_taken, 0, 1) != 0

    cpdef int32_t take(self) noexcept nogil:
        cdef int32_t spins = 0
        while not self.try_take():
            spins += 1
            if spins < SPINS:
                ac_pause()
            else:
                leave_to_others()
        return 0

    cpdef int32_t give(self) noexcept nogil:
        ac_put_i64_release(<uint8_t *>&self._is_taken, 0)
        return 0
