cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.lumberjack._native cimport bounds, phases
from aeron_media.lumberjack.writer.reconnect_backoff cimport ReconnectBackoff
from aeron_media.lumberjack.writer.window_ledger cimport WindowLedger
from aeron_media.lumberjack.writer.writer_connection cimport WriterConnection


@cython.final
cdef class WriterStream:
    cdef readonly bint is_closed
    cdef readonly int64_t lag           # bytes of the log offered and not confirmed
    cdef readonly list connections      # owns the objects that the pointers refer to
    cdef WindowLedger _ledger
    cdef PointerList _pointers
    cdef bint _is_balanced
    cdef int32_t _current               # index of the active connection; not used with `balance`
    cdef int32_t _turn                  # index of the connection that is offered the next window
    cdef bint _has_begun
    cdef bint _has_been_up
    cdef int64_t _up_ns                 # last time that a connection was up
    cdef int64_t _now_ns

    cdef bint has_peer(self) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int64_t advance(self, LogBuffer log, int64_t position, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t close(self) except -1 nogil
    cdef int32_t _work(self, int32_t index, int64_t now_ns) except -1 nogil
    cdef int32_t _choose(self) except -1 nogil
    @cython.locals(idle=int32_t)
    cdef int32_t _fill(self, LogBuffer log) except -1 nogil
