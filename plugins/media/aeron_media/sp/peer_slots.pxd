cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList, PointerMap
from aeron_media.sp.peer cimport Peer


@cython.final
cdef class PeerSlots:
    cdef readonly list peers            # keeps the peers alive
    cdef PointerList unused
    cdef PointerList active
    cdef PointerList up                 # admitted peers, oldest first
    cdef PointerMap sessions            # session id -> Peer
    cdef int32_t _next_session_id

    cdef int32_t begin(self, Peer peer, bint is_dialed, int64_t now_ns) except -1 nogil
    cdef int32_t release(self, Peer peer) except -1 nogil
