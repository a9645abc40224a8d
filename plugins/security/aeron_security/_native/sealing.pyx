"""A datagram channel that seals what it sends and opens what it receives.

Source: docs/wire/secure-udp.md.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from aeron_core._native cimport wire
from aeron_core._native.address cimport AF_INET6, SocketAddress, sockaddr_storage
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.clock cimport Clock
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION = wire.SPI_VERSION
#: Bytes that sealing adds to a datagram.
OVERHEAD = AC_OVERHEAD
#: Reasons for which datagrams are not opened, in the order of the checks.
REASONS = ("plain", "secret", "role", "echo", "busy", "forged", "replayed", "unproved", "handshake")
# Orders of the conductor to the agent: admit the secret that an identity granted, forget all that it granted, start
# handshakes with all whose secrets are admitted, and seal with another secret.
ADMIT = AC_ADMIT
FORGET = AC_FORGET
GREET = AC_GREET
RENEW = AC_RENEW

# Receive calls in which no datagram can be opened before the agent does other work. Invented.
cdef int32_t _RECEIVE_ROUNDS = 16
#: Numbers after which a socket rotates its salt, and nanoseconds.
ROTATE_NUMBERS = 1 << 40
ROTATE_INTERVAL_NS = 3600 * 10**9
#: Greatest time.
LAST_NS = (1 << 63) - 1


def is_available():
    """Return whether libcrypto of OpenSSL 3 was found."""
    return bool(ac_crypto_load())


def has_fresh_numbers():
    """Return whether the processor has an instruction for random numbers."""
    return bool(ac_has_fresh_numbers())


def fresh_number():
    """Return 8 random bytes of the processor, or of the operating system if the processor has no instruction for them."""
    cdef uint64_t number
    if not ac_fresh_number(&number) and not ac_random(&number, sizeof(number)):
        raise OSError(11, "no random numbers: try again later")
    return (<const char *>&number)[:8]


@cython.final
cdef class SealingSession:
    """Secrets, salt and counts of one endpoint; its sockets share it, and one agent uses it.

    `secrets`: from 1 to 4 secrets of 32 bytes; the first one seals, all are accepted. `cipher`: 1 AES-128-GCM,
    2 AES-256-GCM, 3 ChaCha20-Poly1305. `role` and `peer_role`: 0 publication, 1 subscription, 2 name resolver.
    With a `public_key` of 32 bytes, the session has an identity: the only secret is its own, and the conductor admits the
    secrets of peers. Raises ValueError for other arguments, MemoryError if memory runs out, OSError without libcrypto.
    """

    def __cinit__(
        self, secrets, int cipher, int role, int peer_role, Clock clock, uint64_t rotate_numbers=ROTATE_NUMBERS,
        int64_t rotate_interval_ns=ROTATE_INTERVAL_NS, bytes public_key=None
    ):
        if not ac_crypto_load():
            raise OSError(2, "libcrypto.so.3 was not found: install OpenSSL 3 (on Debian, apt-get install libssl3)")
        if not 1 <= len(secrets) <= AC_MAX_SECRETS:
            raise ValueError(f"{len(secrets)} secrets: must be from 1 to {AC_MAX_SECRETS}")
        if not 1 <= cipher <= 3:
            raise ValueError(f"cipher={cipher}: must be from 1 to 3")
        self.sealer = <ac_sealer_t *>calloc(1, sizeof(ac_sealer_t))
        self.opener = <ac_opener_t *>calloc(1, sizeof(ac_opener_t))
        if self.sealer == NULL or self.opener == NULL:
            raise MemoryError("cannot allocate a session: free memory, or raise the memory limit")
        if public_key is not None:
            if len(public_key) != 32:
                raise ValueError(f"a public key of {len(public_key)} bytes: must be 32")
            memcpy(self.opener.public_key, <const uint8_t *>public_key, 32)
        for secret in secrets:
            if len(secret) != 32:
                raise ValueError(f"a secret of {len(secret)} bytes: must be 32")
            if public_key is not None:
                if not ac_owned_secret(
                    &self.opener.secrets[0], secret, self.opener.public_key, cipher, role, self.sealer.salt
                ):
                    raise MemoryError("cannot derive keys: free memory, or raise the memory limit")
                break
            if not ac_secret_init(&self.opener.secrets[self.opener.secret_count], secret, cipher):
                raise MemoryError("cannot derive keys: free memory, or raise the memory limit")
            self.opener.secret_count += 1
        self.opener.role = peer_role
        if public_key is not None:
            self.opener.has_identity = True
            self.opener.exchange = <ac_exchange_t *>calloc(1, sizeof(ac_exchange_t))
            if self.opener.exchange == NULL:
                raise MemoryError("cannot allocate a session: free memory, or raise the memory limit")
        self.sockets = {}
        self.sealer.rotate_numbers = rotate_numbers
        self.sealer.rotate_interval_ns = rotate_interval_ns
        if not ac_random(self.opener.token_key, 32) or not ac_sealer_init(
            self.sealer, &self.opener.secrets[0], role, clock.nano_time()
        ):
            raise MemoryError("cannot derive keys: free memory, or raise the memory limit")
        # The sealer has its copy; the secret of a session with an identity changes.
        if public_key is not None:
            explicit_bzero(self.opener.secrets, sizeof(self.opener.secrets))
        self.clock = clock
        self.staging = AtomicBuffer.allocate(AC_STAGING_LENGTH)
        self.outgoing = SendBatch()
        self.fault = AtomicLong()
        self.fault_source = SocketAddress()

    def __dealloc__(self):
        if self.sealer != NULL:
            ac_sealer_free(self.sealer)
        if self.opener != NULL:
            ac_drop_closed(self.opener, True)
            if self.opener.exchange != NULL:
                explicit_bzero(self.opener.exchange, sizeof(ac_exchange_t))
                free(self.opener.exchange)
            explicit_bzero(self.opener, sizeof(ac_opener_t))
        free(self.sealer)
        free(self.opener)

    @property
    def salt(self):
        """Salt with which this session seals, 16 bytes."""
        return (<const char *>self.sealer.salt)[:AC_SALT_LENGTH]

    def counts(self):
        """Return the numbers of datagrams sealed and opened, of rotations, and of refusals by reason."""
        named = {"sealed": self.sealer.sealed, "opened": self.opener.opened, "rotations": self.sealer.rotations}
        for index, reason in enumerate(REASONS):
            named[reason] = self.opener.counts[index + 1]
        return named

    def grant(self):
        """Return the secret, its last number, and the RENEW orders that were obeyed; None while the agent changes them.

        Any thread may call it.
        """
        cdef uint8_t prk[32]
        cdef uint64_t number, renewals
        if not ac_sealer_read(self.sealer, prk, &number, &renewals):
            return None
        found = (<const char *>prk)[:32], number, renewals
        explicit_bzero(prk, 32)
        return found

    def order(self, int code, uint32_t owner, bytes key, bytes prk, uint64_t number, uint64_t line=0,
              uint64_t generation=0, int64_t began_ns=LAST_NS):
        """Order ADMIT, FORGET, GREET or RENEW; return whether the ring had space. Called by the conductor only.

        `owner` is the number of the identity whose public key is `key`, from 1 to 1024; `prk` is its secret, whose
        datagrams up to `number` count as received. Secrets of an earlier `generation` of the same `line` are forgotten when
        the secret is used; both are of 64 bits. `began_ns` is the time of the session's clock at the begin of the handshake.
        For GREET and RENEW it is the identity of this session, with the number 0.
        """
        if owner > AC_MAX_OWNERS:
            raise ValueError(f"the number {owner} of an identity: must be at most {AC_MAX_OWNERS}")
        if len(prk) != 32 or len(key) != 32:
            raise ValueError(f"a secret of {len(prk)} bytes, and a key of {len(key)}: must be 32")
        return bool(ac_give_order(self.opener.exchange, code, owner, key, prk, number, line, generation, began_ns))

    def end_filters(self, int64_t now_ns):
        """Remove the filters of sockets that have received nothing for a second. Called by the conductor only."""
        for each in self.sockets.values():
            each.end_filter(now_ns)

    def take_handshake(self):
        """Return the oldest datagram of a handshake, its source and the number of its socket, or None.

        Its token or cookie is right. Called by the conductor only.
        """
        cdef SocketAddress source
        cdef ac_passed_t *passed = ac_next_passed(self.opener.exchange)
        if passed == NULL:
            return None
        source = SocketAddress()
        memcpy(&source._storage, passed.name, passed.name_length)
        source._length = passed.name_length
        found = (<const char *>passed.data)[:passed.length], source, passed.socket
        ac_end_passed(self.opener.exchange)
        return found

    cdef int32_t keep_fault(self, int32_t reason, SocketAddress source) noexcept nogil:
        # Reasons of a peer that is set differently, or of an attack; the others occur in a working network.
        if 0 < reason and (reason <= AC_OTHER_ROLE or reason == AC_FORGED) and self.fault.get_acquire() == 0:
            self.fault_source.assign(source)
            # Release: the source is stored first.
            self.fault.set_release(reason)
        return 0

    def take_fault(self):
        """Return the last reason for which a datagram was refused and its source, and forget them; None if there is none.

        Of the reasons, only those that do not occur in a working network are kept. Any thread may call it.
        """
        reason = self.fault.get_acquire()
        if reason == 0:
            return None
        found = REASONS[reason - 1], self.fault_source.copy()
        self.fault.set_release(0)
        return found


@cython.final
cdef class SealedDatagrams(DatagramChannel):
    """Channel that seals and opens the datagrams of `channel`; one agent sends and receives.

    It has its own windows: a sender with several destinations sends the same sealed datagrams to several sockets of one
    endpoint. `reply_address`: where challenges and answers go, if not to the source of the datagram that causes them.
    Raises MemoryError if memory, or the operating system's random numbers, run out.
    """

    def __cinit__(self, DatagramChannel channel, SealingSession session, SocketAddress reply_address=None):
        self._opener = ac_opener_new(session.opener, reply_address is not None)
        if self._opener == NULL:
            raise MemoryError("no memory or random numbers for a socket: free memory, or try again later")

    def __dealloc__(self):
        if self._opener != NULL:
            ac_opener_drop(self._opener)

    def __init__(self, DatagramChannel channel, SealingSession session, SocketAddress reply_address=None):
        self._channel = channel
        self._session = session
        self._has_reply_address = reply_address is not None
        self._reply_address = SocketAddress() if reply_address is None else reply_address.copy()
        self._source = SocketAddress()
        self._watched = AtomicLong()
        self._ended = AtomicLong()
        session.socket_count += 1
        self._number = session.socket_count
        session.sockets[self._number] = self

    def send_handshake(self, bytes datagram, SocketAddress destination):
        """Send an unsealed datagram from the conductor's thread, to the group of a multicast channel if there is one."""
        cdef SendBatch batch = SendBatch()
        cdef AtomicBuffer memory = AtomicBuffer.allocate(len(datagram))
        memcpy(memory.at(0, len(datagram)), <const uint8_t *>datagram, len(datagram))
        batch.add(memory, 0, len(datagram), len(datagram))
        # One that cannot be sent is lost, as on the network.
        self._channel.send(batch, self._reply_address if self._has_reply_address else destination)

    cdef int32_t _obey(self) noexcept nogil:
        # The time is read only if there is something to do.
        if ac_next_order(self._session.opener.exchange) != NULL:
            ac_obey(self._session.opener, self._session.sealer, self._session.clock.nano_time())
        return 0

    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil:
        cdef int32_t count = 0, slot, rounds = 0
        cdef int64_t now_ns
        if self._opener.exchange != NULL and not self._opener.is_joined:
            ac_join(self._session.opener, self._opener, self._session.clock.nano_time())
        self._obey()
        # Under a flood, what can be opened must not wait for the next duty cycle, before which the agent may idle.
        while count == 0 and rounds < _RECEIVE_ROUNDS:
            rounds += 1
            count = self._channel.receive(batch)
            self._take_error()
            if count == 0:
                if self._flood.is_filtered:
                    # The flood may have ended. After the call: what has waited is counted for the time in which it did.
                    self._watch(self._session.clock.nano_time())
                break
            now_ns = self._session.clock.nano_time()
            for slot in range(count):
                self._open_slot(batch, slot, now_ns)
            self._watch(now_ns)
            # An endpoint takes an empty slot for a malformed datagram.
            count = ac_close_gaps(batch._batch, batch.buffer.at(0, 1), 65536, count)
        batch.count = count
        return count

    cdef int32_t _watch(self, int64_t now_ns) noexcept nogil:
        cdef ac_flood_t *flood = &self._flood
        cdef int64_t ended
        if now_ns - flood.begin_ns >= AC_BUDGET_NS and (
            flood.is_filtered or flood.refused[0][0] or flood.refused[0][1] or flood.refused[1][0] or flood.refused[1][1]
        ):
            ended = self._ended.get_acquire()
            if ended != self._seen_ended:
                # The conductor has removed it.
                self._seen_ended = ended
                flood.program = 0
            ac_step_flood(flood, self._opener, self._session.sealer, self._channel.descriptor(), now_ns)
            self._watched.set_release(now_ns if flood.is_filtered else 0)
        return 0

    def end_filter(self, int64_t now_ns):
        """Remove the filter of a socket that has received nothing for a second: its agent may not look at it meanwhile.

        Called by the conductor. The agent finds the flood at its end, or attaches the filter again.
        """
        cdef int64_t watched_ns = self._watched.get_acquire()
        if watched_ns != 0 and now_ns - watched_ns >= AC_SECOND_NS:
            # In this order: an agent that finds another number attaches it again.
            ac_remove_filter(self._channel.descriptor())
            self._ended.set_release(self._ended.get_acquire() + 1)

    cdef int32_t _open_slot(self, ReceiveBatch batch, int32_t slot, int64_t now_ns) except -1 nogil:
        # The contents of the slot's datagrams move together: all but the last have the same length.
        cdef int32_t length = batch._batch.lengths[slot]
        cdef int32_t step = max(batch._batch.segment_lengths[slot], 1)
        cdef uint8_t *memory = batch.buffer.at(batch.offset_of(slot), length)
        cdef ac_opener_t *opener = self._opener
        cdef ac_opener_t *counted = self._session.opener
        cdef int32_t at = 0, kept = 0, part, reason
        cdef bint is_strange = False
        cdef ac_reply_t reply
        cdef const sockaddr_storage *name = &batch._batch.names[slot]
        cdef int kind = AC_IS_FRAME
        if length == 0:
            counted.counts[AC_PLAIN] += 1
            ac_count_flood(&self._flood, kind, name)
        else:
            # The filter decides by the first bytes, of which some may be of the second datagram.
            kind = ac_kind_of(opener, self._session.sealer, memory, length)
        while at < length:
            part = min(step, length - at)
            reply.answers = reply.challenges = reply.hello_length = 0
            reason = ac_opener_open(
                opener, self._session.sealer, memory + at, part, now_ns, name,
                28 if name.ss_family == AF_INET6 else 16, self._number, &reply
            )
            if reply.hello_length or reply.answers or reply.challenges:
                batch.copy_source(slot, self._source)
                self._reply(&reply, now_ns)
            if reason != 0:
                # Also those for other sockets: a stranger must not send them without a limit.
                ac_count_flood(&self._flood, kind, name)
                is_strange |= ac_kind_of(opener, self._session.sealer, memory + at, part) != AC_HAS_SALT
            if reason < 0 or (reason == 0 and memory[at + 5] >= AC_HELLO):
                pass
            elif reason != 0:
                counted.counts[reason] += 1
                batch.copy_source(slot, self._source)
                self._session.keep_fault(reason, self._source)
            else:
                counted.opened += 1
                if memory[at + 5] == AC_FRAMES:
                    memmove(memory + kept, memory + at + AC_HEADER_LENGTH, part - AC_OVERHEAD)
                    kept += part - AC_OVERHEAD
            at += part
        # With the stranger's first, a run of both is dropped: the next may have the datagrams of the peer behind it.
        if is_strange and (kept > 0 or (self._flood.has_gro and ac_is_source_of_peer(&self._flood, opener, name))):
            self._flood.mixed_until_ns = now_ns + AC_MIXED_NS
        batch._batch.lengths[slot] = kept
        batch._batch.segment_lengths[slot] = max(step - AC_OVERHEAD, 1)
        return 0

    cdef int32_t _reply(self, ac_reply_t *reply, int64_t now_ns) except -1 nogil:
        cdef int32_t lengths[2]
        cdef int32_t index, at = 0
        # Replies are put where the sealed datagrams of a batch are.
        self._session.kept = NULL
        for index in range(ac_put_replies(
            self._session.opener, self._session.sealer, reply, now_ns, self._session.staging.at(0, 512), lengths
        )):
            self._session.outgoing.clear()
            self._session.outgoing.add(self._session.staging, at, lengths[index], lengths[index])
            # A reply that cannot be sent is lost, as on the network.
            if self._has_reply_address:
                self._channel.send(self._session.outgoing, self._reply_address)
            else:
                self._channel.send(self._session.outgoing, self._source)
            at += lengths[index]
        return self._take_error()

    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil:
        cdef ac_staged_t *staged = &self._session.staged
        cdef uint8_t *memory = self._session.staging.at(0, AC_STAGING_LENGTH)
        cdef int32_t count = 0, first = 0, taken, index
        # First: a batch that was sealed with a secret that is replaced now must be sealed again.
        self._obey()
        # All destinations get the same sealed datagrams, if they are still staged.
        if not (
            self._session.kept == batch._batch and ac_is_repeated(batch._batch)
            and self._session.kept_version == self._session.sealer.version
        ):
            memset(staged, 0, sizeof(ac_staged_t))
            self._session.kept = NULL
            if not ac_sealer_begin(self._session.sealer, self._session.clock.nano_time()):
                self.error_code = 12  # ENOMEM
                return 0
            self._session.kept = batch._batch
            self._session.kept_version = self._session.sealer.version
        staged.is_cut = False
        # Long pieces are sent one by one, so that the receiver opens one while the next is sealed. Pieces of short
        # entries, and those that are staged for another destination, are sent together: a system call each would cost
        # more than it gains.
        while first < staged.count or staged.entry < batch.count:
            if first == staged.count:
                if ac_is_full(staged, batch._batch):
                    staged.count = staged.used = first = 0
                    self._session.kept = NULL
                if not ac_stage_some(staged, self._session.sealer, batch._batch, batch.count, memory):
                    # The numbers are used up: another destination must not get other datagrams with the next ones.
                    self._session.kept = NULL
                    self.error_code = 12
                    break
            taken = self._send_pieces(staged, first, destination)
            for index in range(taken):
                count = ac_note_sent(
                    staged, batch._batch, first + index, self._session.outgoing._batch.lengths[index]
                )
            if first + taken < staged.count or staged.is_cut:
                break
            first = staged.count
        if count > 0 and staged.last_end < batch._batch.lengths[staged.last_entry]:
            batch._batch.lengths[staged.last_entry] = staged.last_end
        return count

    cdef int32_t _send_pieces(
        self, const ac_staged_t *staged, int32_t first, SocketAddress destination
    ) except -1 nogil:
        """Send the pieces from `first` on; return how many were sent, the last one in part."""
        cdef int32_t index, taken
        self._session.outgoing.clear()
        for index in range(first, staged.count):
            self._session.outgoing.add(
                self._session.staging, staged.pieces[index].begin, staged.pieces[index].length,
                staged.pieces[index].segment_length
            )
        taken = self._channel.send(self._session.outgoing, destination)
        self._take_error()
        return taken

    cdef int32_t descriptor(self) noexcept nogil:
        return self._channel.descriptor()

    cdef int32_t _take_error(self) noexcept nogil:
        # The agent reads errors from this channel only.
        self.error_code = self._channel.error_code
        self._channel.error_code = 0
        return 0

    def local_address(self):
        """See `DatagramChannel.local_address`."""
        return self._channel.local_address()

    def connect(self, SocketAddress address):
        """See `DatagramChannel.connect`."""
        self._channel.connect(address)

    def close(self):
        """See `DatagramChannel.close`."""
        self._session.sockets.pop(self._number, None)
        self._channel.close()
