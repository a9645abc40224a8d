"""One counter of a driver: a 64-bit value in shared memory, such as a position or a statistic.

Not here: allocation, labels and keys (concurrent/counters). The constructor checks the bounds once, so that reading
cannot fail and costs no more than a load.

Memory order: `set`, `set_release`, `increment_release` and `propose_max_release` are for the only writer of a counter:
the last two load and store in two steps. The writers of a shared counter use `get_and_add` and `raise_to`, which are
atomic.
"""

cimport cython

from aeron_core._native cimport wire


cdef int raise_read_only(int32_t counter_id) except -1 nogil:
    with gil:
        raise IndexError(
            f"counter {counter_id} cannot be written: the buffer of the counters is read-only; map cnc.dat with "
            f"read_only=False"
        )


@cython.final
cdef class AtomicCounter:
    """The value of one counter in the values buffer. Raises IndexError if `counter_id` is out of range.

    Methods that store raise IndexError if the buffer is read-only.
    """

    def __cinit__(self, AtomicBuffer values not None, int32_t counter_id):
        self.id = counter_id
        self.buffer = values
        self._offset = <int64_t>counter_id * wire.COUNTER_VALUE_LENGTH
        values.check(self._offset, wire.COUNTER_VALUE_LENGTH)
        self._address = values.at(self._offset + wire.COUNTER_VALUE_OFFSET, 8)
        self._writable = not values.read_only

    @property
    def registration_id(self):
        """The registration id, such as that of the command that added the counter; it changes when the id is reused."""
        return self.buffer.get_i64_acquire(self._offset + wire.COUNTER_REGISTRATION_ID_OFFSET)

    def __repr__(self):
        return f"AtomicCounter(id={self.id}, value={self.get_acquire()})"
