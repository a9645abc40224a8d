cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress, sockaddr_storage
from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "datagrams.h" nogil:
    enum:
        AC_BATCH_CAPACITY
    ctypedef struct ac_batch_t:
        sockaddr_storage names[1]
        int32_t lengths[1]
        int32_t segment_lengths[1]
        int64_t times_ns[1]
    int ac_receive_batch(int fd, ac_batch_t *batch, uint8_t *memory, int64_t slot_length, int slots)
    void ac_prepare_send(ac_batch_t *batch, int index, const uint8_t *data, int32_t length, int32_t segment_length)
    int ac_send_batch(int fd, ac_batch_t *batch, int count, const void *name, unsigned int name_length)
    int ac_send_cut_batch(int fd, ac_batch_t *batch, int count, const void *name, unsigned int name_length)
    int ac_is_offload_failure(const ac_batch_t *batch, int count, int result)


@cython.final
cdef class ReceiveBatch:
    cdef ac_batch_t *_batch
    cdef readonly AtomicBuffer buffer      # `slots` slots of SLOT_LENGTH bytes
    cdef readonly int32_t slots
    cdef readonly int32_t count            # slots filled by the last receive
    cdef readonly int32_t received         # slots that its socket filled, before any were refused

    cdef inline int64_t offset_of(self, int32_t index) noexcept nogil:
        return <int64_t>index * 65536

    cdef inline int32_t length_of(self, int32_t index) noexcept nogil:
        return self._batch.lengths[index]

    cdef inline int32_t segment_length_of(self, int32_t index) noexcept nogil:
        return self._batch.segment_lengths[index]

    # Time when the kernel received the datagrams, in ns since the epoch; 0 if the kernel did not report it.
    cdef inline int64_t time_of(self, int32_t index) noexcept nogil:
        return self._batch.times_ns[index]

    cdef void copy_source(self, int32_t index, SocketAddress into) noexcept nogil


@cython.final
cdef class SendBatch:
    cdef ac_batch_t *_batch
    cdef readonly int32_t count
    cdef readonly int64_t length           # bytes of all entries

    cdef inline int32_t length_of(self, int32_t index) noexcept nogil:
        return self._batch.lengths[index]

    cdef inline int32_t segment_length_of(self, int32_t index) noexcept nogil:
        return self._batch.segment_lengths[index]

    cdef inline void clear(self) noexcept nogil:
        self.count = 0
        self.length = 0

    cdef inline bint is_full(self) noexcept nogil:
        return self.count == AC_BATCH_CAPACITY

    cdef inline int64_t length_of_first(self, int32_t count) noexcept nogil:
        cdef int64_t total = 0
        cdef int32_t i
        for i in range(count):
            total += self._batch.lengths[i]
        return total

    cdef int32_t add(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, int32_t segment_length
    ) except -1 nogil
    # Add `length` bytes at `offset` of another batch's entry, as one datagram.
    cdef int32_t add_part(self, SendBatch source, int32_t index, int32_t offset, int32_t length) except -1 nogil
    # Store `time_ns` at `payload_offset` in the first frame of each datagram if that frame is DATA and long enough; the
    # offset -8 is that of the reserved value in the header. Changes the frames in place.
    cdef int32_t stamp(self, int32_t payload_offset, int64_t time_ns) noexcept nogil


cdef class DatagramChannel:
    # errno of the last failed call, unless a retry may succeed; reset to 0 by the code that reports it.
    cdef public int32_t error_code
    # Fill `batch`; return the number of slots filled, 0 if no datagram is waiting or the call failed.
    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil
    # Send the entries of `batch`; return how many were sent. The last entry that was sent may have been sent in part:
    # then its length is reduced to the bytes sent. `destination` is ignored if the channel is connected.
    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil
    # Return a descriptor that becomes readable when datagrams are waiting, or wire.NO_DESCRIPTOR.
    cdef int32_t descriptor(self) noexcept nogil


@cython.final
cdef class UdpSocket(DatagramChannel):
    cdef int _fd
    cdef object _socket
    cdef readonly bint is_connected
    cdef readonly bint uses_gso            # becomes false if the kernel refuses to segment
    cdef int32_t _outcome(self, int result) noexcept nogil
