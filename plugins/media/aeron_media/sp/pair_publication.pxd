cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class PairPublication:
    cdef bint is_cut
    cdef int64_t cut_length       # bytes of the draft that were sent before the peer disconnected
    cdef int32_t cut_session_id

    cdef int32_t cut(self, int64_t sent_length, int32_t session_id) noexcept nogil
