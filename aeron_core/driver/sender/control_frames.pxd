cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.datagrams cimport SendBatch
from aeron_core.driver.sender.sending_publication cimport SendingPublication
from aeron_core.protocol.frames.data cimport DataHeader
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup


@cython.final
cdef class ControlFrames:
    cdef readonly AtomicBuffer buffer
    cdef readonly Setup setup
    cdef DataHeader _heartbeat
    cdef Rttm _rttm
    cdef int32_t _position_bits_to_shift
    cdef int32_t _initial_term_id

    cdef int32_t encode_setup(self, int64_t position) except -1 nogil
    cdef int32_t encode_heartbeat(self, int64_t position, uint8_t flags) except -1 nogil
    cdef int32_t encode_rttm(self, int64_t echo_timestamp, int64_t receiver_id, uint8_t flags) except -1 nogil


@cython.final
cdef class HeartbeatBunch:
    cdef AtomicBuffer _buffer
    cdef SendBatch _batch
    cdef AtomicCounter _short_sends
    cdef PyObject *_stream          # SendingPublication of the last heartbeat, borrowed
    cdef int32_t _count

    cdef int32_t add(self, SendingPublication stream, ControlFrames frames) except -1 nogil
    @cython.locals(length=int32_t, taken=int32_t)
    cdef int32_t flush(self) except -1 nogil
