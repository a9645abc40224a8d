"""Commands between two agents: a single-producer, single-consumer ring without locks or allocation.

References in a command are borrowed: the producer keeps the objects alive until the consumer has released them.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from aeron_core._native.address cimport SocketAddress, sockaddr_storage
from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "atomics.h" nogil:
    int64_t ac_get_i64_acquire(const uint8_t *p)
    void ac_put_i64_release(uint8_t *p, int64_t v)


@cython.final
cdef class Command:
    """One command, filled by its sender or by `poll`; the object is reused."""

    def __cinit__(self):
        self.source = SocketAddress()
        self.control = SocketAddress()

    cdef int32_t set_text(self, AtomicBuffer source, int64_t offset, int32_t length) except -1 nogil:
        cdef int32_t kept = min(length, <int32_t>sizeof(self._slot.text))
        memcpy(self._slot.text, source.at(offset, kept), kept)
        self._slot.text_length = kept
        return kept

    @property
    def text(self):
        """The text, at most 1024 bytes; empty if the operation has none."""
        return self._slot.text[:self._slot.text_length]

    @property
    def code(self):
        """The operation; the two agents agree on the numbers."""
        return self._slot.operation

    @property
    def target(self):
        """The object that the operation applies to, or None; the sender must still keep it alive."""
        return None if self._slot.target == NULL else <object>self._slot.target

    @property
    def subject(self):
        """A second object of the operation, or None; the sender must still keep it alive."""
        return None if self._slot.subject == NULL else <object>self._slot.subject

    @property
    def numbers(self):
        """The eight signed 32-bit arguments; those that the operation does not use have any value."""
        return tuple(self._slot.numbers[i] for i in range(8))

    @property
    def values(self):
        """The four signed 64-bit arguments; those that the operation does not use have any value."""
        return tuple(self._slot.values[i] for i in range(4))


@cython.final
cdef class CommandRing:
    """A bounded ring of commands: one thread calls `offer` or `send`, one other calls `poll` or `receive`.

    Raises ValueError unless `capacity` is a power of two of at least 2 commands.
    """

    def __cinit__(self, int32_t capacity=1024):
        if capacity < 2 or capacity & (capacity - 1):
            raise ValueError(f"capacity={capacity}: must be a power of two from 2 to {2**30}")
        self._slots = <RingSlot *>calloc(capacity, sizeof(RingSlot))
        if self._slots == NULL:
            raise MemoryError(f"cannot allocate a ring of {capacity} commands: free memory, or use a lower capacity")
        self._capacity = capacity

    def __dealloc__(self):
        free(self._slots)

    @property
    def size(self):
        """The number of commands offered but not yet polled; approximate while the other thread is working."""
        return ac_get_i64_acquire(<uint8_t *>&self._tail) - ac_get_i64_acquire(<uint8_t *>&self._head)

    def wake_with(self, NamedSemaphore semaphore=None, Bell bell=None):
        """Post `semaphore` or ring `bell`, for which an idle consumer waits, after each command; call before the first."""
        self._wake_up = semaphore
        self._bell = bell

    cdef bint offer(self, Command command) noexcept nogil:
        cdef int64_t tail = self._tail
        # Acquire: pairs with the consumer's release of the head, so that a slot is overwritten only after it was read.
        if tail - ac_get_i64_acquire(<uint8_t *>&self._head) >= self._capacity:
            return False
        cdef RingSlot *slot = &self._slots[tail & (self._capacity - 1)]
        slot.command = command._slot
        slot.source_length = command.source._length
        memcpy(slot.source, &command.source._storage, sizeof(sockaddr_storage))
        slot.control_length = command.control._length
        memcpy(slot.control, &command.control._storage, sizeof(sockaddr_storage))
        # Release: a consumer that loads the new tail with acquire sees the whole slot.
        ac_put_i64_release(<uint8_t *>&self._tail, tail + 1)
        if self._wake_up is not None:
            self._wake_up.post()
        if self._bell is not None:
            self._bell.ring_surely()
        return True

    cdef bint poll(self, Command into) noexcept nogil:
        cdef int64_t head = self._head
        # Acquire: pairs with the producer's release of the tail, so that the whole slot is visible.
        if head >= ac_get_i64_acquire(<uint8_t *>&self._tail):
            return False
        cdef RingSlot *slot = &self._slots[head & (self._capacity - 1)]
        into._slot = slot.command
        into.source._length = slot.source_length
        memcpy(&into.source._storage, slot.source, sizeof(sockaddr_storage))
        into.control._length = slot.control_length
        memcpy(&into.control._storage, slot.control, sizeof(sockaddr_storage))
        # Release: pairs with the producer's acquire of the head, so that it overwrites the slot only after these reads.
        ac_put_i64_release(<uint8_t *>&self._head, head + 1)
        return True

    def send(
        self, int32_t operation, object target=None, object subject=None, numbers=(), values=(),
        SocketAddress source=None, SocketAddress control=None,
    ):
        """Offer a command from Python; return False if the ring is full.

        The caller keeps `target` and `subject` alive until the consumer has released them. At most eight `numbers`
        (int32) and four `values` (int64): the count is not checked.
        """
        cdef Command command = Command()
        command.begin(operation, NULL if target is None else <PyObject *>target)
        if subject is not None:
            command.set_subject(<PyObject *>subject)
        for index, number in enumerate(numbers):
            command._slot.numbers[<int>index] = number
        for index, value in enumerate(values):
            command._slot.values[<int>index] = value
        if source is not None:
            command.source.assign(source)
        if control is not None:
            command.control.assign(control)
        return self.offer(command)

    def receive(self, Command into not None):
        """Poll from Python: fill `into` and return whether a command was available."""
        return self.poll(into)
