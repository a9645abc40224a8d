cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.connections cimport ByteConnection, DescriptorConnection, ConnectionListener


@cython.final
cdef class RelaySocket(DescriptorConnection):
    cdef object _control          # socket for connection requests; referenced here, so that its descriptor stays open
    cdef int32_t _control_fd
    cdef bint _is_answered        # the relay has confirmed the connection
    cdef bint _has_ended          # this end has ended sending


@cython.final
cdef class RelayListener(ConnectionListener):
    cdef object _control
    cdef object _close
    cdef int32_t _control_fd
    cdef SocketAddress _local
