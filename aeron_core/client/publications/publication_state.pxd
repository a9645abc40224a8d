from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.park cimport Bell
from aeron_core.logbuffer.descriptor cimport LogBuffer


cdef class PublicationState:
    cdef readonly str channel                        # the channel URI, as added
    cdef readonly int32_t stream_id                  # the stream within the channel
    cdef readonly int32_t session_id                 # the session of this publication in the stream
    cdef readonly int64_t registration_id            # registration id of this publication
    cdef readonly int64_t original_registration_id   # registration id of the publication that created the stream
    cdef readonly int32_t channel_status_id          # counter id, or -1 for IPC
    cdef readonly int32_t position_limit_id          # counter id
    cdef readonly bint is_closed                     # whether it was closed
    cdef LogBuffer _log
    cdef AtomicBuffer _limit                         # i64 at 0: the position up to which offers succeed
    cdef Bell _bell                                  # rung after messages: of the sender, of the stream for IPC
    cdef Bell _limit_bell                            # of the sender, rung under back pressure
    cdef object _owner                               # the client, see ResourceOwner
    cdef object _peers                               # ChannelPeers; None until first used

    cdef int64_t _position(self) except? -1985229329
