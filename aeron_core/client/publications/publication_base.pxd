cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.integers cimport ReusedInt
from aeron_core.client._native cimport arguments
from aeron_core.client._native.payload cimport Payload
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.frame_writer cimport check_range


cdef class PublicationBase:
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int32_t session_id
    cdef readonly int64_t registration_id            # of this object
    cdef readonly int64_t original_registration_id   # of whoever added the stream first
    cdef readonly int32_t channel_status_id          # a counter, or -1 for IPC
    cdef readonly int32_t position_limit_id          # a counter
    cdef readonly bint is_closed
    cdef LogBuffer _log
    cdef AtomicBuffer _limit                         # i64 at 0: how far the driver lets the stream go
    cdef Payload _payload
    cdef ReusedInt _results                          # what offers return
    cdef object _owner                               # the client's side that talks to the driver
    cdef object _peers                               # ChannelPeers; None until somebody asks
    cdef BufferClaim _spare_claim                    # None while it is in use

    cdef int64_t _position(self) except? -1985229329
    cdef int64_t _offer_batch(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329
    cdef int64_t _check_result(self, int64_t result, int64_t length) except? -1985229329
    cdef BufferClaim _take_claim(self)
    cpdef int64_t refusal_of(self, int32_t peer, int64_t length) except? -1985229329
    cpdef int64_t count_for(self, int32_t peer, AtomicBuffer boundaries, int64_t first, int64_t count) except? -1985229329

cpdef int refuse_length(int64_t length, int64_t maximum, str hint) except -1
