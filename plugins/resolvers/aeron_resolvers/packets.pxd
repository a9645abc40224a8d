cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch


@cython.final
cdef class PacketChannel:
    cdef DatagramChannel _channel
    cdef ReceiveBatch _received
    cdef SendBatch _outgoing          # batch of one packet
    cdef AtomicBuffer _packet         # memory of the packet to be sent
