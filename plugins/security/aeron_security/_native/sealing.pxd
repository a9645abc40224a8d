cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.clock cimport Clock
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch, ac_batch_t


cdef extern from "opener.h" nogil:
    enum:
        AC_OVERHEAD
        AC_HEADER_LENGTH
        AC_SALT_LENGTH
        AC_FRAMES
        AC_MAX_SECRETS
        AC_MAX_OWNERS
        AC_HELLO
        AC_ADMIT
        AC_FORGET
        AC_GREET
        AC_RENEW
        AC_PLAIN
        AC_OTHER_ROLE
        AC_FORGED
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
        int answers
        int challenges
    int ac_crypto_load()
    int ac_has_fresh_numbers()
    int ac_random(void *to, size_t length)
    int ac_secret_init(ac_secret_t *secret, const uint8_t *bytes, int cipher)
    int ac_sealer_init(ac_sealer_t *sealer, const ac_secret_t *secret, int role, int64_t now_ns)
    void ac_sealer_free(ac_sealer_t *sealer)
    int ac_sealer_begin(ac_sealer_t *sealer, int64_t now_ns)
    int ac_fresh_number(uint64_t *number)
    int ac_owned_secret(
        ac_secret_t *secret, const uint8_t *prk, const uint8_t *owner, int cipher, int role, uint8_t *salt)
    int ac_sealer_read(const ac_sealer_t *sealer, uint8_t *prk, uint64_t *number, uint64_t *renewals)
    int ac_opener_open(
        ac_opener_t *opener, const ac_sealer_t *own, uint8_t *datagram, int length, int64_t now_ns, const void *name,
        size_t name_length, uint32_t socket, ac_reply_t *reply)
    ac_opener_t *ac_opener_new(const ac_opener_t *session, int has_group)
    void ac_opener_drop(ac_opener_t *opener)
    void ac_drop_closed(ac_opener_t *session, int is_all)
    void ac_join(ac_opener_t *session, ac_opener_t *opener, int64_t now_ns)
    void ac_obey(ac_opener_t *opener, ac_sealer_t *own, int64_t now_ns)
    int ac_put_replies(
        const ac_opener_t *session, ac_sealer_t *sealer, ac_reply_t *reply, int64_t now_ns, uint8_t *to, int32_t *lengths)
    ac_order_t *ac_next_order(ac_exchange_t *exchange)
    ac_passed_t *ac_next_passed(ac_exchange_t *exchange)
    void ac_end_passed(ac_exchange_t *exchange)
    int ac_give_order(
        ac_exchange_t *exchange, int code, uint32_t owner, const uint8_t *key, const uint8_t *prk, uint64_t number,
        uint64_t line, uint64_t generation, int64_t began_ns)

cdef extern from "flood.h" nogil:
    ctypedef struct ac_flood_t:
        int64_t begin_ns
        uint32_t refused[2][2]
        uint64_t program
        bint is_filtered
        int64_t mixed_until_ns
        int has_gro
    enum:
        AC_BUDGET_NS
        AC_SECOND_NS
        AC_MIXED_NS
        AC_IS_FRAME
        AC_HAS_SALT
    void ac_remove_filter(int descriptor)
    bint ac_is_source_of_peer(const ac_flood_t *flood, const ac_opener_t *opener, const void *name)
    int ac_kind_of(const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length)
    void ac_count_flood(ac_flood_t *flood, int kind, const void *name)
    void ac_step_flood(
        ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor, int64_t now_ns)

cdef extern from "staging.h" nogil:
    enum:
        AC_STAGING_LENGTH
    ctypedef struct ac_piece_t:
        int32_t begin
        int32_t length
        int32_t segment_length
    ctypedef struct ac_staged_t:
        ac_piece_t pieces[16]
        int32_t count
        int32_t used
        int32_t entry
        int32_t last_entry
        int32_t last_end
        bint is_cut
    int ac_is_full(const ac_staged_t *staged, const ac_batch_t *batch)
    int ac_stage_some(
        ac_staged_t *staged, ac_sealer_t *sealer, const ac_batch_t *batch, int32_t count, uint8_t *memory
    )
    int32_t ac_note_sent(ac_staged_t *staged, const ac_batch_t *batch, int32_t index, int32_t sent)

cdef extern from "datagrams.h" nogil:
    int ac_close_gaps(ac_batch_t *batch, uint8_t *memory, int64_t slot_length, int count)
    int ac_is_repeated(const ac_batch_t *batch)

cdef extern from "<string.h>" nogil:
    void explicit_bzero(void *memory, size_t length)


# Secrets, salt and counts of an endpoint, which its sockets share; used by one agent.
@cython.final
cdef class SealingSession:
    cdef ac_sealer_t *sealer
    cdef ac_opener_t *opener            # secrets, role and counts: each socket has windows of its own
    cdef AtomicBuffer staging           # sealed datagrams of one send call, or of replies
    cdef SendBatch outgoing
    cdef ac_staged_t staged             # what `staging` contains
    cdef const ac_batch_t *kept         # the plain batch that is staged from its begin on; NULL if there is none
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
    cdef ac_flood_t _flood              # of strangers, and the filter against it
    cdef AtomicLong _watched            # when the agent looked at a filter for the last time; 0 without one
    cdef AtomicLong _ended              # how often the conductor has removed the filter
    cdef int64_t _seen_ended

    cdef int32_t _open_slot(self, ReceiveBatch batch, int32_t slot, int64_t now_ns) except -1 nogil
    cdef int32_t _watch(self, int64_t now_ns) noexcept nogil
    cdef int32_t _reply(self, ac_reply_t *reply, int64_t now_ns) except -1 nogil
    cdef int32_t _obey(self) noexcept nogil
    cdef int32_t _send_pieces(
        self, const ac_staged_t *staged, int32_t first, SocketAddress destination
    ) except -1 nogil
    cdef int32_t _take_error(self) noexcept nogil
