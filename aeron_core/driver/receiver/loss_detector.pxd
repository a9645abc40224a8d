cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core.driver.receiver.nak_delay cimport NakDelay
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.gap_scanner cimport scan_for_gap

cdef int32_t _MAX_STEADY_RETRIES
cdef int32_t _MAX_DOUBLINGS
cdef int64_t _MIN_DOUBLED_NS


@cython.final
cdef class LossDetector:
    cdef LogBuffer _log
    cdef NakDelay _delay                    # fixed or random, see `nak_delay`
    cdef readonly bint has_gap              # found by the last scan
    cdef readonly bint is_new_gap           # not found by the scan before
    cdef readonly bint is_due               # request it now
    cdef readonly int32_t gap_term_id       # of the open gap
    cdef readonly int32_t gap_offset
    cdef readonly int32_t gap_length
    cdef int64_t _expiry_ns                 # when the open gap is due
    cdef int32_t _unanswered                # times that it was due since the last datagram

    cdef int32_t on_packet(self, int64_t now_ns) except -1 nogil
    @cython.locals(delay_ns=int64_t, doublings=int32_t)
    cdef int64_t _retry_delay_ns(self) except? -1 nogil
    @cython.locals(
        bits=int32_t, rebuild_offset=int32_t, limit_offset=int32_t, gap=int64_t,
        term_id=int32_t, offset=int32_t, length=int32_t
    )
    cdef int64_t scan(self, int64_t rebuild_position, int64_t hwm_position, int64_t now_ns) except -1 nogil
