cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.pointers cimport PointerList
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint


@cython.final
cdef class ImageConnection:
    cdef readonly ReceiveChannelEndpoint endpoint   # receives its datagrams and sends its answers
    cdef SocketAddress _control                     # destination of its answers
    cdef bint _is_known                             # a datagram has arrived
    cdef bint _is_end_of_stream                     # its sender signalled the end
    cdef int64_t _end_position                      # position of that end
    cdef int64_t _timeout_ns                        # CONNECTION_TIMEOUT_NS, as a C integer
    cdef int64_t _alive_until_ns                    # extended by each datagram
    cdef int64_t _rebind_ns                         # REBIND_NS, as a C integer
    cdef int64_t _time_of_control_ns                # of the last datagram from `_control`

    cdef bint is_alive(self, int64_t now_ns) noexcept nogil
    cdef int32_t send(self, int32_t frame_type, PyObject *frame) except -1 nogil


@cython.final
cdef class ImageConnections:
    cdef PointerList _all       # of ImageConnection, borrowed from the conductor
    cdef int64_t _liveness_timeout_ns   # of the image
    cdef int64_t _extension_ns  # that timeout, or 0
    cdef int32_t _known_count   # connections on which a datagram has arrived

    cdef int32_t append(self, PyObject *connection) except -1 nogil
    cdef bint remove(self, PyObject *connection) noexcept nogil
    cdef int32_t extend(self, bint is_extended) noexcept nogil
    cdef bint _is_answered(self, PyObject *connection, int64_t now_ns) noexcept nogil
    @cython.locals(i=int32_t)
    cdef int32_t track(
        self, ReceiveChannelEndpoint endpoint, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    @cython.locals(i=int32_t)
    cdef int32_t on_setup(
        self, ReceiveChannelEndpoint endpoint, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    @cython.locals(i=int32_t, is_end=bint)
    cdef bint end(self, ReceiveChannelEndpoint endpoint, int64_t position) noexcept nogil
    @cython.locals(i=int32_t, position=int64_t)
    cdef int64_t end_position(self) noexcept nogil
    @cython.locals(i=int32_t, count=int32_t)
    cdef int32_t count_alive(self, int64_t now_ns) noexcept nogil
    cdef int32_t send_status_message(self, StatusMessage sm, int64_t now_ns) except -1 nogil
    cdef int32_t send_nak(self, Nak nak, int64_t now_ns) except -1 nogil
    cdef int32_t send_rttm(self, Rttm rttm, int64_t now_ns) except -1 nogil
    cdef int32_t send_response_setup(self, ResponseSetup setup, int64_t now_ns) except -1 nogil
    cdef int32_t send_error(self, ErrorFrame error, int64_t now_ns) except -1 nogil
    @cython.locals(i=int32_t, sent=int32_t)
    cdef int32_t _send(self, int32_t frame_type, PyObject *frame, int64_t now_ns) except -1 nogil
