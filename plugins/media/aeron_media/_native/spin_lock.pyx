"""A lock for agents that never wait for long: who finds it taken comes back in its next duty cycle.

It holds up nothing but what asks for it by `take`, which is for changes that are made in a moment and seldom.
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


# The holder of a lock may be waiting for this very core, and where it raises, or has a part in Python, for the GIL.
cdef void leave_to_others() noexcept nogil:
    cdef PyThreadState *state = NULL
    if PyGILState_Check():
        state = PyEval_SaveThread()
    ac_yield()
    if state != NULL:
        PyEval_RestoreThread(state)


@cython.final
cdef class SpinLock:
    """Taken by one thread at a time; not to be taken twice by one."""

    cpdef bint try_take(self) noexcept nogil:
        # Acquire: who holds it sees what the last holder did.
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
