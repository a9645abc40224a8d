"""A socket address as the kernel sees it: copied and compared without the GIL."""

cimport cython
import socket

from libc.string cimport memset

cdef extern from "<arpa/inet.h>" nogil:
    uint16_t htons(uint16_t value)
    uint16_t ntohs(uint16_t value)

cdef extern from "<netinet/in.h>" nogil:
    cdef struct in_addr:
        pass
    cdef struct in6_addr:
        pass
    cdef struct sockaddr_in:
        unsigned short sin_family
        uint16_t sin_port
        in_addr sin_addr
    cdef struct sockaddr_in6:
        unsigned short sin6_family
        uint16_t sin6_port
        in6_addr sin6_addr
        unsigned int sin6_scope_id


@cython.final
cdef class SocketAddress:
    """An IPv4 or IPv6 address with its port, or none (`SocketAddress()`)."""

    def __cinit__(self):
        memset(&self._storage, 0, sizeof(sockaddr_storage))
        self._length = 0

    @staticmethod
    def of(str host, int port, int scope_id=0):
        """Return the address of a numeric `host`; names are resolved elsewhere. Raises OSError for a name."""
        if not 0 <= port <= 65535:
            raise ValueError(f"port={port}: must be from 0 to 65535")
        cdef SocketAddress address = SocketAddress()
        cdef bytes packed
        if ":" in host:
            bare, _, scope = host.partition("%")
            packed = socket.inet_pton(socket.AF_INET6, bare)
            if scope:
                scope_id = int(scope) if scope.isdigit() else socket.if_nametoindex(scope)
            address._fill_ip6(packed, port, scope_id)
        else:
            packed = socket.inet_pton(socket.AF_INET, host)
            address._fill_ip4(packed, port)
        return address

    cdef _fill_ip4(self, bytes packed, int port):
        cdef sockaddr_in *ip4 = <sockaddr_in *>&self._storage
        ip4.sin_family = AF_INET
        ip4.sin_port = htons(port)
        memcpy(&ip4.sin_addr, <char *>packed, 4)
        self._length = sizeof(sockaddr_in)

    cdef _fill_ip6(self, bytes packed, int port, int scope_id):
        cdef sockaddr_in6 *ip6 = <sockaddr_in6 *>&self._storage
        ip6.sin6_family = AF_INET6
        ip6.sin6_port = htons(port)
        ip6.sin6_scope_id = scope_id
        memcpy(&ip6.sin6_addr, <char *>packed, 16)
        self._length = sizeof(sockaddr_in6)

    @property
    def family(self):
        """`socket.AF_INET`, `socket.AF_INET6`, or `socket.AF_UNSPEC` for no address."""
        return self._storage.ss_family

    @property
    def packed(self):
        """The address alone in network order: 4 or 16 bytes, none for no address."""
        if self._storage.ss_family == AF_INET:
            return (<char *>&(<sockaddr_in *>&self._storage).sin_addr)[:4]
        if self._storage.ss_family == AF_INET6:
            return (<char *>&(<sockaddr_in6 *>&self._storage).sin6_addr)[:16]
        return b""

    @property
    def host(self):
        """The numeric host, without its scope."""
        return socket.inet_ntop(self._storage.ss_family, self.packed) if self._length else ""

    @property
    def port(self):
        """The port in host order."""
        if self._storage.ss_family == AF_INET6:
            return ntohs((<sockaddr_in6 *>&self._storage).sin6_port)
        return ntohs((<sockaddr_in *>&self._storage).sin_port) if self._length else 0

    @property
    def scope_id(self):
        """The IPv6 scope, 0 where there is none."""
        return (<sockaddr_in6 *>&self._storage).sin6_scope_id if self._storage.ss_family == AF_INET6 else 0

    def with_port(self, int port):
        """Return the same host with another port."""
        return SocketAddress.of(self.host, port, self.scope_id)

    def as_tuple(self):
        """Return what Python's `socket` functions take."""
        if self._storage.ss_family == AF_INET6:
            return (self.host, self.port, 0, self.scope_id)
        return (self.host, self.port)

    def copy(self):
        """Return an equal address that later changes of this one do not touch."""
        cdef SocketAddress other = SocketAddress()
        other.assign(self)
        return other

    def __eq__(self, other):
        return isinstance(other, SocketAddress) and self.equals(other)

    def __hash__(self):
        return hash((self.family, self.packed, self.port))

    def __str__(self):
        if self._length == 0:
            return "none"
        return f"[{self.host}]:{self.port}" if self._storage.ss_family == AF_INET6 else f"{self.host}:{self.port}"

    def __repr__(self):
        return f"SocketAddress({self})"
