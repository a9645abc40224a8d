cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_media._native cimport destination_table
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.counter cimport AtomicCounter
from aeron_media._native.destination_table cimport DestinationTable


@cython.final
cdef class Destinations:
    cdef DestinationTable _table
    cdef bint _is_manual
    cdef int64_t _timeout_ns
    cdef int64_t _sweep_deadline_ns
    cdef int32_t _first             # index of the destination to which a round sends first
    cdef AtomicCounter _count             # counter of destinations, or None
    cdef bint _has_counter
    cdef CommandRing _orders        # from the conductor
    cdef Command _order
    cdef CommandRing _reports       # to the conductor: silent destinations
    cdef Command _report

    cdef int32_t start_round(self) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int32_t copy_address(self, int32_t turn, SocketAddress into) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int32_t on_status_message(
        self, int64_t receiver_id, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int64_t registration_of(self, int64_t receiver_id, SocketAddress source) noexcept nogil
    cdef int32_t process(self, int64_t now_ns) except -1 nogil
    @cython.locals(operation=int32_t, index=int32_t)
    cdef int32_t _execute(self, int64_t now_ns) except -1 nogil
    cdef int32_t _remove(self, int32_t index) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _forget_silent(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _report_silent(self, int64_t now_ns) except -1 nogil
    cdef int32_t _publish_count(self) except -1 nogil
