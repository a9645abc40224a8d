cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress, sockaddr_storage, socklen_t
from aeron_core._native.datagrams cimport SendBatch

cpdef enum:
    MAX_DESTINATIONS = 4096   # of one table; invented: more than any real group, and it bounds what unknown hosts can add

# Orders of the conductor to an endpoint with several destinations, and a report to the conductor, with their
# arguments.
cpdef enum:
    ORDER_ADD = 1             # address, registration id
    ORDER_REMOVE              # address
    ORDER_REMOVE_BY_ID        # registration id
    ORDER_CHANGE              # registration id, address
    SILENT                    # report to the conductor: registration id


cdef struct Destination:
    sockaddr_storage address
    socklen_t address_length
    bint knows_receiver
    int64_t receiver_id
    int64_t registration_id
    int64_t time_of_last_activity_ns


@cython.final
cdef class DestinationTable:
    cdef Destination *_rows
    cdef readonly int32_t count
    cdef int32_t _capacity

    cdef bint add(self, SocketAddress address, int64_t registration_id, int64_t now_ns) except -1 nogil
    cdef int32_t remove(self, int32_t index) noexcept nogil
    # The functions `find_…` return the index of the row, or MAX_DESTINATIONS if there is none.
    cdef int32_t find_receiver(self, int64_t receiver_id, SocketAddress address) noexcept nogil
    cdef int32_t find_address(self, SocketAddress address) noexcept nogil
    cdef int32_t find_registration(self, int64_t registration_id) noexcept nogil
    cdef int32_t find_silent(self, int64_t since_ns, int32_t start) noexcept nogil
    cdef int32_t note(self, int32_t index, int64_t receiver_id, int64_t now_ns) noexcept nogil
    cdef int64_t registration_of(self, int32_t index) noexcept nogil
    cdef int64_t earliest_activity_ns(self) noexcept nogil
    cdef int32_t set_address(self, int32_t index, SocketAddress address) noexcept nogil
    cdef int32_t restart(self, int32_t index, int64_t now_ns) noexcept nogil
    cdef int32_t copy_address(self, int32_t index, SocketAddress into) noexcept nogil


# Reduce the length of an entry that was sent in part to the bytes that were sent.
cdef inline int32_t cut_entry(SendBatch batch, int32_t index, int32_t length) noexcept nogil:
    batch._batch.lengths[index] = length
    return 0


@cython.final
cdef class FanOut:
    cdef int32_t _lengths[16]         # lengths of the original entries; 16 is BATCH_CAPACITY
    cdef int32_t _count
    cdef int32_t _most_entries        # most entries that one destination accepted
    cdef int64_t _most_bytes

    cdef int32_t begin(self, SendBatch batch) noexcept nogil
    cdef int32_t note(self, SendBatch batch, int32_t taken) noexcept nogil
    cdef int32_t end(self, SendBatch batch) noexcept nogil
