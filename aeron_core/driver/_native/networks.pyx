"""Keys of the networks of peers, by which limits count them: one site can use many addresses of its network."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from aeron_core._native.address cimport AF_INET, AF_INET6, SocketAddress

cdef extern from "<netinet/in.h>" nogil:
    cdef struct in_addr:
        pass
    cdef struct in6_addr:
        pass
    cdef struct sockaddr_in:
        in_addr sin_addr
    cdef struct sockaddr_in6:
        in6_addr sin6_addr

cdef extern from *:
    """
    #define AC_NETWORK_MULTIPLIER 0x9E3779B97F4A7C15ull  /* 2^64 / golden ratio */
    """
    uint64_t MULTIPLIER "AC_NETWORK_MULTIPLIER"

cdef enum:
    HALF_LENGTH = 8  # bytes of half an IPv6 address: the network, then the interface id
    SHIFT = 4        # leaves 60 bits


cpdef int64_t network_of(SocketAddress source) noexcept nogil:
    """Return a key from 0 to 2^60 - 1: of an IPv4 host, or of the /64 network of an IPv6 host; 0 for other addresses.

    In fe80::/10 and ::/64 it is the key of the interface id, the lower 64 bits. Two IPv6 networks may share a key.
    """
    cdef uint32_t ip4 = 0
    cdef uint64_t ip6 = 0
    cdef unsigned char *packed
    if not source.is_set():
        return 0
    if source._storage.ss_family == AF_INET:
        memcpy(&ip4, &(<sockaddr_in *>&source._storage).sin_addr, sizeof(ip4))
        return ip4
    if source._storage.ss_family != AF_INET6:
        return 0
    packed = <unsigned char *>&(<sockaddr_in6 *>&source._storage).sin6_addr
    memcpy(&ip6, packed, HALF_LENGTH)
    # All link-local addresses share fe80::/64, and IPv4-mapped ones ::/64: there, the lower half distinguishes hosts.
    if ip6 == 0 or (packed[0] == 0xFE and packed[1] & 0xC0 == 0x80):
        memcpy(&ip6, packed + HALF_LENGTH, HALF_LENGTH)
    return <int64_t>((ip6 * MULTIPLIER) >> SHIFT)
