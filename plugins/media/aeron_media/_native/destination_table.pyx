"""Destination table of a channel with several destinations, and fan-out of a batch to them.

Not here: when destinations are added and removed (aeron_media.udp.destinations).
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

from aeron_core._native.address cimport SocketAddress, sockaddr_storage
from aeron_core._native.datagrams cimport SendBatch, ac_batch_t

cdef extern from "datagrams.h" nogil:
    void ac_set_repeated(ac_batch_t *batch, int is_repeated)

cdef enum:
    INITIAL_CAPACITY = 8
    PORT_OFFSET = 2     # the same in sockaddr_in and sockaddr_in6
    PORT_LENGTH = 2


cdef int raise_no_memory(int32_t capacity) except -1 nogil:
    with gil:
        raise MemoryError(
            f"cannot allocate a table of {capacity} destinations: free memory, or remove destinations"
        )


cdef inline bint is_same_port(const Destination *row, SocketAddress address) noexcept nogil:
    return (
        row.address.ss_family == address._storage.ss_family
        and memcmp(
            <const uint8_t *>&row.address + PORT_OFFSET, <const uint8_t *>&address._storage + PORT_OFFSET, PORT_LENGTH
        ) == 0
    )


cdef inline bint is_same_address(const Destination *row, SocketAddress address) noexcept nogil:
    return (
        row.address_length == address._length
        and memcmp(&row.address, &address._storage, address._length) == 0
    )


@cython.final
cdef class DestinationTable:
    """Destinations in no order, at most MAX_DESTINATIONS: address, registration id, receiver id, time of activity.

    Used by one thread. The last row takes the index of a removed one.
    """

    def __dealloc__(self):
        free(self._rows)

    cdef bint add(self, SocketAddress address, int64_t registration_id, int64_t now_ns) except -1 nogil:
        cdef Destination *grown
        cdef Destination *row
        cdef int32_t capacity
        if self.count == MAX_DESTINATIONS:
            return False
        if self.count == self._capacity:
            capacity = max(INITIAL_CAPACITY, self._capacity * 2)
            grown = <Destination *>realloc(self._rows, capacity * sizeof(Destination))
            if grown == NULL:
                return raise_no_memory(capacity)
            self._rows = grown
            self._capacity = capacity
        row = &self._rows[self.count]
        memcpy(&row.address, &address._storage, sizeof(sockaddr_storage))
        row.address_length = address._length
        row.knows_receiver = False
        row.receiver_id = 0
        row.registration_id = registration_id
        row.time_of_last_activity_ns = now_ns
        self.count += 1
        return True

    cdef int32_t remove(self, int32_t index) noexcept nogil:
        self.count -= 1
        self._rows[index] = self._rows[self.count]
        return self.count

    cdef int32_t find_receiver(self, int64_t receiver_id, SocketAddress address) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            # A receiver may have another host address after a route change; the port distinguishes sockets with the same id.
            if self._rows[i].knows_receiver:
                if self._rows[i].receiver_id == receiver_id and is_same_port(&self._rows[i], address):
                    return i
            elif is_same_address(&self._rows[i], address):
                return i
        return MAX_DESTINATIONS

    cdef int32_t find_address(self, SocketAddress address) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if is_same_address(&self._rows[i], address):
                return i
        return MAX_DESTINATIONS

    cdef int32_t find_registration(self, int64_t registration_id) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if self._rows[i].registration_id == registration_id:
                return i
        return MAX_DESTINATIONS

    cdef int32_t find_silent(self, int64_t since_ns, int32_t start) noexcept nogil:
        cdef int32_t i
        for i in range(start, self.count):
            if self._rows[i].time_of_last_activity_ns < since_ns:
                return i
        return MAX_DESTINATIONS

    cdef int32_t note(self, int32_t index, int64_t receiver_id, int64_t now_ns) noexcept nogil:
        self._rows[index].knows_receiver = True
        self._rows[index].receiver_id = receiver_id
        self._rows[index].time_of_last_activity_ns = now_ns
        return 0

    cdef int64_t registration_of(self, int32_t index) noexcept nogil:
        return self._rows[index].registration_id

    cdef int64_t earliest_activity_ns(self) noexcept nogil:
        cdef int32_t i
        cdef int64_t earliest = 0x7FFFFFFFFFFFFFFF
        for i in range(self.count):
            earliest = min(earliest, self._rows[i].time_of_last_activity_ns)
        return earliest

    cdef int32_t set_address(self, int32_t index, SocketAddress address) noexcept nogil:
        memcpy(&self._rows[index].address, &address._storage, sizeof(sockaddr_storage))
        self._rows[index].address_length = address._length
        self._rows[index].knows_receiver = False
        return 0

    cdef int32_t restart(self, int32_t index, int64_t now_ns) noexcept nogil:
        # The destination is silent: from now on another receiver may answer at this address.
        self._rows[index].knows_receiver = False
        self._rows[index].time_of_last_activity_ns = now_ns
        return 0

    cdef int32_t copy_address(self, int32_t index, SocketAddress into) noexcept nogil:
        memcpy(&into._storage, &self._rows[index].address, sizeof(sockaddr_storage))
        into._length = self._rows[index].address_length
        return 0


@cython.final
cdef class FanOut:
    """Result of sending one batch to several destinations: the most that one of them accepted.

    Call `begin`, then `note` after each send, with the entries that it accepted, then `end`. `note` restores a length
    that the send reduced; `end` reduces it to what was accepted. Destinations that accepted less recover by NAKs.
    Between the first `note` and `end` the batch is marked as repeated, so that it is sealed once.
    """

    cdef int32_t begin(self, SendBatch batch) noexcept nogil:
        cdef int32_t i
        self._count = batch.count
        self._most_entries = 0
        self._most_bytes = 0
        ac_set_repeated(batch._batch, False)
        for i in range(batch.count):
            self._lengths[i] = batch._batch.lengths[i]
        return 0

    cdef int32_t note(self, SendBatch batch, int32_t taken) noexcept nogil:
        cdef int64_t sent = batch.length_of_first(taken)
        if sent > self._most_bytes:
            self._most_bytes = sent
            self._most_entries = taken
        if taken > 0:
            batch._batch.lengths[taken - 1] = self._lengths[taken - 1]
        ac_set_repeated(batch._batch, True)
        return 0

    cdef int32_t end(self, SendBatch batch) noexcept nogil:
        # The last entry may have been sent in part: its length is the total minus the lengths of the entries before it.
        cdef int64_t left = self._most_bytes
        cdef int32_t i
        ac_set_repeated(batch._batch, False)
        for i in range(self._most_entries - 1):
            left -= batch._batch.lengths[i]
        if self._most_entries > 0:
            batch._batch.lengths[self._most_entries - 1] = <int32_t>left
        return self._most_entries
