cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch


@cython.final
cdef class LoggedDatagrams(DatagramChannel):
    cdef DatagramChannel _channel       # the channel that is wrapped
    # Python callables of the event log: a call needs the GIL, on the thread of the agent.
    cdef object _on_received
    cdef object _on_sent

    cdef int32_t _take_error(self) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int32_t _report_received(self, ReceiveBatch batch, int32_t count) except -1
    @cython.locals(index=int32_t)
    cdef int32_t _report_sent(self, SendBatch batch, int32_t taken, SocketAddress destination) except -1
