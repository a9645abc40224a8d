cimport cython
from libc.stdint cimport uint16_t
from libc.string cimport memcmp, memcpy

cdef extern from "<sys/socket.h>" nogil:
    ctypedef unsigned int socklen_t
    int AF_UNSPEC, AF_INET, AF_INET6, AF_UNIX
    cdef struct sockaddr:
        unsigned short sa_family
    cdef struct sockaddr_storage:
        unsigned short ss_family


@cython.final
cdef class SocketAddress:
    cdef sockaddr_storage _storage
    cdef socklen_t _length  # of the sockaddr within `_storage`; 0 = no address

    cdef _fill_ip4(self, bytes packed, int port)
    cdef _fill_ip6(self, bytes packed, int port, int scope_id)
    cdef bytes _path(self)

    cdef inline void assign(self, SocketAddress other) noexcept nogil:
        memcpy(&self._storage, &other._storage, sizeof(sockaddr_storage))
        self._length = other._length

    cdef inline bint equals(self, SocketAddress other) noexcept nogil:
        return self._length == other._length and memcmp(&self._storage, &other._storage, self._length) == 0

    cdef inline void clear(self) noexcept nogil:
        self._length = 0

    cdef inline bint is_set(self) noexcept nogil:
        return self._length != 0
