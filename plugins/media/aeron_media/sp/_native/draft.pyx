"""Draft: bytes to be sent to a peer, partly in a queue, partly (long bodies) still in the log buffer.

A draft is an alternating sequence of runs (queue bytes) and bodies (payloads of log frames), sent by one vectored call.

Not here: choosing the messages. Invariant: bytes are sent in the order in which they were added, each once.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from posix.uio cimport iovec

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer, raise_out_of_bounds
from aeron_media._native.byte_queue cimport ByteQueue
from aeron_core._native.connections cimport ByteConnection


cdef int64_t payload_length(AtomicBuffer log, int64_t offset) except -1 nogil:
    # A client can write to the log at any time: check the length again before it is used.
    cdef int64_t length = log.get_i32(offset) - wire.DATA_HEADER_LENGTH
    if length <= 0:
        raise_out_of_bounds(offset, length, log.capacity)
    return length


@cython.final
cdef class Draft:
    """Unsent bodies, at most MAX_BODIES, and between them the bytes in `queue`.

    Other code may append to the queue at any time, and consume it only while there are no bodies.
    """

    def __cinit__(self, ByteQueue queue not None):
        self._queue = queue

    cdef int32_t add_body(self, int64_t offset, int64_t length) noexcept nogil:
        # Add the payloads of the frames from `offset` on, `length` bytes together, after all bytes in the queue; return
        # the number of bodies. Call only if `takes_bodies` returns True.
        self._runs[self._count] = self._queue.size - self._run_length
        self._offsets[self._count] = offset
        self._lefts[self._count] = length
        self._run_length = self._queue.size
        self.body_length += length
        self._count += 1
        return self._count

    cdef int64_t send(self, ByteConnection connection, AtomicBuffer log) except -1 nogil:
        # Send as much as the connection accepts; return the number of bytes, or CONNECTION_FAILED.
        cdef iovec pieces[MAX_PIECES]
        cdef int64_t sent = connection.send_vector(pieces, self._lay_out(pieces, log))
        if sent > 0:
            self._consume(sent, log)
        return sent

    cdef int32_t drop_bodies(self) noexcept nogil:
        self._first = 0
        self._count = 0
        self._run_length = 0
        self._skipped = 0
        self.body_length = 0
        return 0

    cdef int32_t _lay_out(self, iovec *pieces, AtomicBuffer log) except -1 nogil:
        cdef int32_t count = 0
        cdef int32_t i
        cdef int64_t at = 0
        cdef int64_t skipped = self._skipped
        cdef int64_t offset, left, length
        for i in range(self._first, self._count):
            if self._runs[i] > 0:
                if count == MAX_PIECES:
                    return count
                pieces[count].iov_base = self._queue.first() + at
                pieces[count].iov_len = self._runs[i]
                at += self._runs[i]
                count += 1
            offset = self._offsets[i]
            left = self._lefts[i]
            while left > 0:
                if count == MAX_PIECES:
                    return count
                length = min(payload_length(log, offset) - skipped, left)
                pieces[count].iov_base = log.at(offset + wire.DATA_HEADER_LENGTH + skipped, length)
                pieces[count].iov_len = length
                count += 1
                left -= length
                skipped = 0
                offset += positions.align_frame(log.get_i32(offset))
        if self._queue.size > at and count < MAX_PIECES:
            pieces[count].iov_base = self._queue.first() + at
            pieces[count].iov_len = self._queue.size - at
            count += 1
        return count

    cdef int32_t _consume(self, int64_t sent, AtomicBuffer log) except -1 nogil:
        cdef int64_t step
        while sent > 0 and self._first < self._count:
            step = min(sent, self._runs[self._first])
            self._queue.consume(step)
            self._runs[self._first] -= step
            self._run_length -= step
            sent = self._consume_body(sent - step, log)
            if self._lefts[self._first] > 0:
                return 0
            self._first += 1
        self._queue.consume(sent)
        if self._first == self._count:
            self.drop_bodies()
        return 0

    cdef int64_t _consume_body(self, int64_t sent, AtomicBuffer log) except -1 nogil:
        # Count up to `sent` bytes of the first body as sent; return how many of them belong to what follows the body.
        cdef int64_t length, step
        while sent > 0 and self._lefts[self._first] > 0:
            length = payload_length(log, self._offsets[self._first]) - self._skipped
            step = min(sent, length, self._lefts[self._first])
            self._lefts[self._first] -= step
            self.body_length -= step
            sent -= step
            if step == length:
                self._offsets[self._first] += positions.align_frame(log.get_i32(self._offsets[self._first]))
                self._skipped = 0
            else:
                self._skipped += step
        return sent
