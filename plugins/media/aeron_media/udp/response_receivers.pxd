cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.pointers cimport PointerMap, pair_key
from aeron_core.protocol.frames.status_message cimport StatusMessage


@cython.final
cdef class ResponseReceiver:
    cdef SocketAddress address
    cdef int64_t receives_until_ns      # until then no other receiver can take its place


@cython.final
cdef class ResponseReceivers:
    cdef PointerMap _receivers          # (stream id, session id) -> ResponseReceiver, borrowed
    cdef dict _by_key                   # keeps the receivers alive
    cdef int64_t _timeout_ns

    cdef bint find(self, int64_t key, SocketAddress into) except -1 nogil
    @cython.locals(key=int64_t, is_end=bint)
    cdef int32_t on_status_message(self, StatusMessage sm, SocketAddress source, int64_t now_ns) except -1 nogil
    cdef int32_t _add(self, int64_t key, SocketAddress source) except -1 nogil
    cdef int32_t remove(self, int64_t key) except -1 nogil
