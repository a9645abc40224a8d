cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer, ac_get_i64_acquire
from aeron_core._native.park cimport Bell
from aeron_core._native.semaphore cimport NamedSemaphore


cdef struct CommandSlot:
    int32_t operation
    int32_t numbers[8]
    int64_t values[4]
    PyObject *target
    PyObject *subject
    int32_t text_length
    char text[1024]


@cython.final
cdef class Command:
    cdef CommandSlot _slot
    cdef readonly SocketAddress source   # belongs to this object: each `poll` into it overwrites the address
    cdef readonly SocketAddress control

    cdef inline int32_t operation(self) noexcept nogil:
        return self._slot.operation

    cdef inline int32_t number(self, int32_t index) noexcept nogil:
        return self._slot.numbers[index]

    cdef inline int64_t value(self, int32_t index) noexcept nogil:
        return self._slot.values[index]

    cdef inline PyObject *target_pointer(self) noexcept nogil:
        return self._slot.target

    cdef inline PyObject *subject_pointer(self) noexcept nogil:
        return self._slot.subject

    cdef inline void begin(self, int32_t operation, PyObject *target) noexcept nogil:
        self._slot.operation = operation
        self._slot.target = target
        self._slot.subject = NULL
        self._slot.text_length = 0
        self.source._length = 0
        self.control._length = 0

    cdef inline void set_number(self, int32_t index, int32_t value) noexcept nogil:
        self._slot.numbers[index] = value

    cdef inline void set_value(self, int32_t index, int64_t value) noexcept nogil:
        self._slot.values[index] = value

    cdef int32_t set_text(self, AtomicBuffer source, int64_t offset, int32_t length) except -1 nogil

    cdef inline void set_subject(self, PyObject *subject) noexcept nogil:
        self._slot.subject = subject


cdef struct RingSlot:
    CommandSlot command
    char source[128]
    char control[128]
    unsigned int source_length
    unsigned int control_length


@cython.final
cdef class CommandRing:
    cdef RingSlot *_slots
    cdef int32_t _capacity   # a power of two
    cdef NamedSemaphore _wake_up   # posted after each command, or None
    cdef Bell _bell                # rung after each command, or None
    cdef char _pad_tail[64]
    cdef int64_t _tail       # written by the producer only
    cdef char _pad_head[64]
    cdef int64_t _head       # written by the consumer only
    cdef char _pad_end[64]

    cdef bint offer(self, Command command) noexcept nogil
    cdef bint poll(self, Command into) noexcept nogil

    # Whether there is no command; for the consumer.
    cdef inline bint is_empty(self) noexcept nogil:
        return self._head >= ac_get_i64_acquire(<uint8_t *>&self._tail)
