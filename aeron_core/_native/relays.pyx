"""Connections that a thread of Python makes, and relays: an agent that never holds the GIL has the plain end of them.

A relay and an agent share a `control` socket, over which they hand each other descriptors: the relay those of
connections that have come, the agent one end of a pair whose other end is to be connected. The relay's first byte on
such a pair is its answer: 0 for a connection, else the errno of why there is none. All other bytes are the peer's.
A relay that lost its peer closes the pair; one whose peer has said all that it had to say ends it.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

import os

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress, sockaddr_storage, socklen_t
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.streams cimport (
    STREAM_CONNECTED,
    STREAM_CONNECTING,
    STREAM_ENDED,
    STREAM_FAILED,
    STREAM_WAITS,
)

cdef extern from "streams.h" nogil:
    enum:
        AC_STREAM_ENDED
    int64_t ac_stream_receive(int fd, uint8_t *into, int64_t length)
    int64_t ac_stream_send(int fd, const uint8_t *source, int64_t length)
    void ac_stream_close(int fd, bint aborts)
    void ac_stream_end(int fd)

cdef extern from "relays.h" nogil:
    int ac_relay_give(int control, int fd, const sockaddr_storage *name, socklen_t name_length)
    int ac_relay_take(int control, sockaddr_storage *name, socklen_t *name_length)
    int ac_relay_ask(int control, const sockaddr_storage *name, socklen_t name_length)
    bint ac_relay_is_cut(int fd)

cdef extern from "<errno.h>" nogil:
    int EAGAIN, ECONNABORTED, ECONNRESET, ENOTCONN


def hand_over(int control, int descriptor, SocketAddress peer):
    """Give a descriptor to who takes from the other end of `control`; return whether there was room for it."""
    cdef int result = ac_relay_give(control, descriptor, &peer._storage, peer._length)
    if result < 0 and result != -EAGAIN:
        raise OSError(-result, os.strerror(-result))
    return result > 0


def take_over(int control):
    """Return a descriptor and a peer's address, None where none waits; raises OSError with EPIPE after the last."""
    cdef SocketAddress peer = SocketAddress()
    cdef int descriptor = ac_relay_take(control, &peer._storage, &peer._length)
    if descriptor == -EAGAIN:
        return None
    if descriptor < 0:
        raise OSError(-descriptor, os.strerror(-descriptor))
    return descriptor, peer


@cython.final
cdef class RelayedStream(ByteStream):
    """The plain end of a connection. To abort it is to close it: the relay still delivers what it was given."""

    def __init__(self, control):
        self._control = control
        self._control_fd = control.fileno()
        self._fd = wire.NO_DESCRIPTOR

    def __dealloc__(self):
        if self._fd >= 0:
            ac_stream_close(self._fd, False)

    cdef int32_t _fail(self, int64_t result) noexcept nogil:
        self.error_code = <int32_t>-result
        return STREAM_FAILED

    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        cdef int64_t received
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        received = ac_stream_receive(self._fd, buffer.at(offset, length), length)
        if received >= 0:
            return received
        if received != AC_STREAM_ENDED:
            return self._fail(received)
        if not self._has_ended and ac_relay_is_cut(self._fd):
            return self._fail(-ECONNRESET)
        return STREAM_ENDED

    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        cdef int64_t sent
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        sent = ac_stream_send(self._fd, buffer.at(offset, length), length)
        return sent if sent >= 0 else self._fail(sent)

    cdef int32_t connect(self, SocketAddress address) except -1 nogil:
        cdef int result
        self.close(False)
        self.error_code = 0
        result = ac_relay_ask(self._control_fd, &address._storage, address._length)
        if result < 0:
            return self._fail(result)
        self._fd = result
        self._is_answered = False
        self._has_ended = False
        return 1

    cdef int32_t is_connected(self) except -1 nogil:
        cdef uint8_t answer = 0
        cdef int64_t received
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        if self._is_answered:
            return STREAM_CONNECTED
        received = ac_stream_receive(self._fd, &answer, 1)
        if received == STREAM_WAITS:
            return STREAM_CONNECTING
        if received == AC_STREAM_ENDED:
            return self._fail(-ECONNABORTED)
        if received < 0:
            return self._fail(received)
        if answer != 0:
            return self._fail(-<int64_t>answer)
        self._is_answered = True
        return STREAM_CONNECTED

    cdef int32_t end(self) except -1 nogil:
        if self._fd >= 0:
            self._has_ended = True
            ac_stream_end(self._fd)
        return 0

    cdef int32_t close(self, bint aborts) except -1 nogil:
        if self._fd >= 0:
            ac_stream_close(self._fd, False)
            self._fd = wire.NO_DESCRIPTOR
        return 0

    cdef int32_t descriptor(self) noexcept nogil:
        return self._fd


@cython.final
cdef class RelayedListener(StreamListener):
    """Takes the connections that a relay hands over; `close` is called when no more are taken."""

    def __init__(self, control, SocketAddress local, close):
        self._control = control
        self._control_fd = control.fileno()
        self._local = local
        self._close = close

    cdef int32_t accept(self, ByteStream into, SocketAddress peer) except -1 nogil:
        cdef int fd = ac_relay_take(self._control_fd, &peer._storage, &peer._length)
        if fd == -EAGAIN:
            return STREAM_WAITS
        if fd < 0:
            self.error_code = -fd
            return STREAM_FAILED
        (<RelayedStream>into).error_code = 0
        (<RelayedStream>into)._fd = fd
        (<RelayedStream>into)._is_answered = True
        (<RelayedStream>into)._has_ended = False
        return 1

    cdef int32_t descriptor(self) noexcept nogil:
        return self._control_fd

    def new_stream(self):
        """Return a stream of the relay's connections."""
        return RelayedStream(self._control)

    def local_address(self):
        """Return the address that the relay listens at."""
        return self._local.copy()

    def close(self):
        """Have the relay take no more, and give up what nobody has accepted."""
        cdef int fd
        cdef SocketAddress peer = SocketAddress()
        self._close()
        while True:
            fd = ac_relay_take(self._control_fd, &peer._storage, &peer._length)
            if fd < 0:
                break
            ac_stream_close(fd, False)
