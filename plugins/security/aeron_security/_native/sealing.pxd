cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.clock cimport Clock
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch, ac_batch_t


cdef extern from "opener.h" nogil:
    ctypedef struct ac_secret_t:
        uint8_t id
    ctypedef struct ac_sealer_t:
        ac_secret_t secret
        uint8_t salt[16]
        uint64_t number
        uint64_t rotate_numbers
        int64_t rotate_interval_ns
        uint64_t sealed
        uint64_t rotations
        uint64_t version
    ctypedef struct ac_order_t:
        int32_t code
    ctypedef struct ac_passed_t:
        uint8_t data[168]
        uint8_t name[32]
        int32_t length
        uint32_t name_length
        uint32_t socket
    ctypedef struct ac_exchange_t:
        uint64_t taken_count
    ctypedef struct ac_opener_t:
        ac_exchange_t *exchange
        int is_joined
        int holders
        bint has_identity
        bint has_group
        uint8_t public_key[32]
        ac_secret_t secrets[4]
        int secret_count
        int role
        uint8_t token_key[32]
        int peer_count
        uint64_t opened
        uint64_t counts[10]
    ctypedef struct ac_reply_t:
        int hello_length
        uint8_t hello[80]
        int answers
        int challenges
        uint8_t token[16]
        uint8_t salt[16]
        uint8_t challenge_token[16]


# Sealed datagrams of one call of the socket: which entry of the plain batch each came from, up to which byte of it, and
# how long it is.
cdef struct Staged:
    int32_t count
    int32_t entries[16]
    int32_t ends[16]
    int32_t sealed_lengths[16]
    int32_t entry           # of the plain batch: the next to be sealed
    int32_t done            # bytes of it that are sealed
    int32_t last_entry      # the last that was sent, up to `last_end`
    int32_t last_end
    bint is_cut             # the last one was sent in part


# Secrets, salt and counts of an endpoint, which its sockets share; used by one agent.
@cython.final
cdef class SealingSession:
    cdef ac_sealer_t *sealer
    cdef ac_opener_t *opener            # secrets, role and counts: each socket has windows of its own
    cdef AtomicBuffer staging           # sealed datagrams of one send call, or of replies
    cdef SendBatch outgoing
    cdef Staged staged                  # what `staging` and `outgoing` contain
    cdef const ac_batch_t *kept         # the plain batch that they contain all of; NULL if there is none
    cdef uint64_t kept_version          # of the secret and salt that they are sealed with
    cdef readonly Clock clock
    cdef AtomicLong fault               # a reason, set by the agent, cleared by the conductor
    cdef SocketAddress fault_source
    cdef readonly dict sockets          # channels by number; used by the conductor
    cdef uint32_t socket_count

    cdef int32_t keep_fault(self, int32_t reason, SocketAddress source) noexcept nogil


@cython.final
cdef class SealedDatagrams(DatagramChannel):
    cdef DatagramChannel _channel       # the socket
    cdef SealingSession _session
    cdef ac_opener_t *_opener           # admitted salts and their windows
    cdef bint _has_reply_address
    cdef SocketAddress _reply_address   # where challenges and answers go; otherwise to the source of the datagram
    cdef SocketAddress _source
    cdef uint32_t _number               # among the sockets of the session

    cdef int32_t _open_slot(self, ReceiveBatch batch, int32_t slot, int64_t now_ns) except -1 nogil
    cdef int32_t _reply(self, ac_reply_t *reply, int64_t now_ns) except -1 nogil
    cdef int32_t _send_control(self, int kind, const uint8_t *content, int length) except -1 nogil
    cdef int32_t _obey(self) noexcept nogil
    cdef int32_t _send_staged(self, int length) except -1 nogil
    cdef bint _stage(self, SendBatch batch, Staged *staged) except -1 nogil
    cdef int32_t _restore(self, Staged *staged) except -1 nogil
    cdef int32_t _note(self, SendBatch batch, Staged *staged, int32_t index) noexcept nogil
    cdef int32_t _take_error(self) noexcept nogil
