"""Connections of one endpoint by their source, so that one host cannot take all of them.

A source is an IPv4 address or an IPv6 network of 64 bits: a host usually has a whole network of that length, and chooses
its addresses in it. Link-local addresses have the same network on every host: their other 64 bits are the source.
All Unix sockets are one source.

Invariant: only sources with connections are stored, so the memory is bounded by the number of connections.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from aeron_core._native.address cimport AF_INET, AF_INET6, SocketAddress
from aeron_core._native.pointers cimport LongMap

cdef extern from *:
    """
    static const unsigned char ac_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    """
    const uint8_t *MAPPED "ac_mapped"  # what precedes the IPv4 address in ::ffff:a.b.c.d

cdef extern from "<netinet/in.h>" nogil:
    cdef struct in_addr:
        uint32_t s_addr
    cdef struct in6_addr:
        uint8_t s6_addr[16]
    cdef struct sockaddr_in:
        in_addr sin_addr
    cdef struct sockaddr_in6:
        in6_addr sin6_addr

cdef enum:
    HALF_LENGTH = 8      # bytes of the network, and of the host, in an IPv6 address
    MAPPED_LENGTH = 12


cdef int64_t source_of(SocketAddress peer) noexcept nogil:
    cdef int64_t source = 0
    cdef uint8_t *ip6
    if peer._storage.ss_family == AF_INET:
        return (<sockaddr_in *>&peer._storage).sin_addr.s_addr
    if peer._storage.ss_family != AF_INET6:
        return 0
    ip6 = (<sockaddr_in6 *>&peer._storage).sin6_addr.s6_addr
    if memcmp(ip6, MAPPED, MAPPED_LENGTH) == 0:
        memcpy(&source, ip6 + MAPPED_LENGTH, sizeof(uint32_t))
    elif ip6[0] == 0xFE and ip6[1] & 0xC0 == 0x80:
        memcpy(&source, ip6 + HALF_LENGTH, HALF_LENGTH)
    else:
        memcpy(&source, ip6, HALF_LENGTH)
    return source


@cython.final
cdef class SourceCounts:
    """Number of connections of each source; `limit`: the most that one may have, 0 for no limit. Used by one thread."""

    def __init__(self, int32_t limit):
        self.limit = limit
        self._counts = LongMap()

    def __len__(self):
        return self._counts.size

    cpdef int64_t count(self, SocketAddress peer) noexcept nogil:
        return self._counts.get(source_of(peer), 0)

    cpdef bint has_space(self, SocketAddress peer) noexcept nogil:
        return self.limit == 0 or self.count(peer) < self.limit

    cpdef int32_t add(self, SocketAddress peer) except -1 nogil:
        self._counts.put(source_of(peer), self.count(peer) + 1)
        return 0

    cpdef int32_t remove(self, SocketAddress peer) except -1 nogil:
        cdef int64_t left = self.count(peer) - 1
        if left > 0:
            self._counts.put(source_of(peer), left)
        else:
            self._counts.remove(source_of(peer))
        return 0
