"""Wait operations, from the shortest to the longest: `pause`, `yield_thread`, `sleep_ns`, and bells.

A bell is a named pipe and a flag in shared memory. A thread that finds no work arms the bell, looks once more, and waits
for the pipe; other threads and processes write to the pipe only if they find the flag set, so that a bell costs them one
load while the thread is awake. No fence orders their store before this load: the duty cycle between `arm` and `wait` is
longer than a processor keeps a store to itself. Every wait has a limit in any case, for those that do not ring.

The bell of a stream has a mask instead of a flag: a bit for each event loop whose coroutines wait for the stream. The
loops have numbered pipes, which the writers of the streams open when they ring for the first time.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from posix.unistd cimport close

from aeron_core._native.buffer cimport AtomicBuffer


PIPES = AC_PIPES


cdef inline int64_t index_of(int64_t correlation_id, int64_t count) noexcept:
    # Streams that are added one after the other get masks in different cache lines. Two streams that share a mask wake
    # each other's loops. 61 and the number of masks have no common divisor.
    return (correlation_id & 0x7fffffff) * 61 % count


@cython.final
cdef class StreamBells:
    """Bells of streams: masks of the event loops that wait for them, and the pipes of these loops."""

    def __cinit__(self):
        self._folder = -1
        for i in range(AC_PIPES):
            self._pipes[i] = -1

    def __init__(self, AtomicBuffer memory, int64_t offset, int64_t count, int folder):
        """Take over `folder`, the descriptor of the folder of the pipes; `memory` has `count` int32 at `offset`, masks."""
        self._folder = folder
        memory.at(offset, 4 * count)
        self._memory = memory
        self._offset = offset
        self._count = count

    def __dealloc__(self):
        for i in range(AC_PIPES):
            if self._pipes[i] >= 0:
                close(self._pipes[i])
        if self._folder >= 0:
            close(self._folder)

    cdef int32_t *_mask_of(self, int64_t correlation_id) except NULL:
        return <int32_t *>self._memory.at(self._offset + 4 * index_of(correlation_id, self._count), 4)

    def index(self, int64_t correlation_id):
        """Return the number of the mask of a stream; several streams may have the same."""
        return index_of(correlation_id, self._count)

    def bell(self, int64_t correlation_id):
        """Return the bell of a stream, by the registration id of the publication or the correlation id of the image."""
        cdef Bell bell = Bell()
        bell._flag = self._mask_of(correlation_id)
        bell._streams = self
        return bell

    def arm(self, int64_t correlation_id, int number):
        """Have the next message of a stream ring the loop with a number from 0 to 31; return whether it did not yet.

        Then look at the stream once more before waiting: what was stored before the bit was visible does not ring.
        """
        return ac_mask_set(self._mask_of(correlation_id), number & (AC_PIPES - 1))

    def is_armed(self, int64_t correlation_id, int number):
        """Return whether the stream has not rung the loop since `arm`."""
        return ac_mask_has(self._mask_of(correlation_id), number & (AC_PIPES - 1))


@cython.final
cdef class Bell:
    """Ends the wait of one thread early; without arguments, a bell that nothing waits for. See also `StreamBells`."""

    def __cinit__(self):
        self._pipe = -1
        self._set = -1
        self._flag = &self._silent

    def __init__(self, int pipe=-1, AtomicBuffer memory=None, int64_t offset=0, *, bint is_waiting=False):
        """Take over the descriptor `pipe`, which does not block; `memory` has an int32 at `offset`, the flag.

        `is_waiting`: for the thread that waits. Raises OSError if the system refuses a set of descriptors.
        """
        if pipe < 0:
            return
        self._pipe = pipe
        self._memory = memory
        self._flag = <int32_t *>memory.at(offset, 4)
        if is_waiting:
            self._set = ac_bell_set_open()
            if self._set < 0 or not ac_bell_watch(self._set, pipe):
                raise OSError(
                    "cannot watch the pipe of a bell: raise the limit of open files, ulimit -n or fs.file-max, or free "
                    "memory"
                )

    def __dealloc__(self):
        if self._pipe >= 0:
            close(self._pipe)
        if self._set >= 0:
            close(self._set)

    def watch(self, int descriptor):
        """End waits also when `descriptor` is readable; return whether the system accepts it."""
        return ac_bell_watch(self._set, descriptor)

    def signal(self):
        """Wake the thread if it waits; any thread or process may call it, after it stored what the thread looks for."""
        self.ring_surely()

    def push(self):
        """End the current or the next wait, whether the bell is armed or not."""
        if self._pipe >= 0:
            ac_bell_push(self._pipe)

    cdef void _ring(self) noexcept nogil:
        if self._streams is None:
            ac_bell_ring(self._flag, self._pipe)
        else:
            ac_mask_ring(self._flag, self._streams._folder, self._streams._pipes)

    cdef bint wait(self, int64_t timeout_ns, bint is_watching) noexcept nogil:
        """Wait for a ring, and with `is_watching` for the descriptors; return whether there was one."""
        return ac_bell_wait(self._set if is_watching else self._pipe, self._pipe, timeout_ns)
