cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.datagrams cimport DatagramChannel, SendBatch
from aeron_media._native.destination_table cimport cut_entry
from aeron_media.udp.loss cimport LossGenerator


@cython.final
cdef class LossySender:
    cdef DatagramChannel _channel
    cdef LossGenerator _loss
    cdef SendBatch _survivors
    cdef AtomicBuffer _offsets          # offset in its entry of each survivor, int32

    @cython.locals(sent=int32_t)
    cdef int32_t send(self, SendBatch batch, SocketAddress remote) except -1 nogil
    @cython.locals(offset=int32_t, length=int32_t, step=int32_t, sent=int32_t)
    cdef int32_t _send_entry(self, SendBatch batch, int32_t index, SocketAddress remote) except -1 nogil
    @cython.locals(count=int32_t, sent=int32_t)
    cdef int32_t _flush(self, int32_t end, SocketAddress remote) except -1 nogil
