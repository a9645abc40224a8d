"""Socket address in the layout of the kernel, copied and compared without the GIL."""

cimport cython
import errno
import os
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

cdef extern from "<sys/un.h>" nogil:
    cdef struct sockaddr_un:
        unsigned short sun_family
        char sun_path[108]

cdef enum:
    MAX_PATH_LENGTH = 107
    MAX_SCOPE = 0x7fffffff  # the kernel's indexes of interfaces are positive int


cdef bytes _packed(int family, str host):
    try:
        return socket.inet_pton(family, host)
    except (OSError, ValueError):
        # ValueError: the host contains a NUL, or surrogates, which stand for bytes of a client's command that are not
        # UTF-8. The text of OSError names no host.
        raise OSError(errno.EINVAL, f"{host!r}: must be a numeric address") from None


cdef int _scope_of(str text) except -1:
    if not (text.isascii() and text.isdigit()):
        return socket.if_nametoindex(text)
    # Long texts are refused before int(), which takes quadratic time, converts them.
    if len(text) > len(str(MAX_SCOPE)) or int(text) > MAX_SCOPE:
        raise OSError(errno.ENXIO, f"scope {text[:20]}: must be the index of an interface, from 0 to {MAX_SCOPE}")
    return int(text)


@cython.final
cdef class SocketAddress:
    """An IPv4 or IPv6 address with its port, the path of a Unix socket, or none (`SocketAddress()`)."""

    def __cinit__(self):
        memset(&self._storage, 0, sizeof(sockaddr_storage))
        self._length = 0

    @staticmethod
    def of(str host, int port, int scope_id=0):
        """Return the address of a numeric `host` and a port from 0 to 65535.

        An IPv6 `host` may end with `%` and its scope, a number or the name of an interface; that scope replaces
        `scope_id`. Raises OSError for a host that is not numeric or an unknown scope, ValueError for another port.
        """
        if not 0 <= port <= 65535:
            raise ValueError(f"port={port}: must be from 0 to 65535")
        cdef SocketAddress address = SocketAddress()
        cdef bytes packed
        if ":" in host:
            bare, _, scope = host.partition("%")
            packed = _packed(socket.AF_INET6, bare)
            if scope:
                scope_id = _scope_of(scope)
            address._fill_ip6(packed, port, scope_id)
        else:
            packed = _packed(socket.AF_INET, host)
            address._fill_ip4(packed, port)
        return address

    @staticmethod
    def unix(bytes path):
        """Return the address of a Unix socket; an abstract name begins with a zero byte.

        Raises ValueError unless `path` has 1 to 107 bytes.
        """
        cdef Py_ssize_t length = len(path)
        if not 1 <= length <= MAX_PATH_LENGTH:
            raise ValueError(f"path of {length} bytes: must be from 1 to {MAX_PATH_LENGTH} bytes: {path!r}")
        cdef SocketAddress address = SocketAddress()
        cdef sockaddr_un *un = <sockaddr_un *>&address._storage
        un.sun_family = AF_UNIX
        memcpy(un.sun_path, <char *>path, length)
        # The length of a path includes its final zero byte; an abstract name has none.
        address._length = sizeof(un.sun_family) + length + (1 if path[0] else 0)
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
        """`socket.AF_INET`, `AF_INET6` or `AF_UNIX`, or `AF_UNSPEC` for no address."""
        return self._storage.ss_family

    @property
    def packed(self):
        """The address in network byte order: 4 or 16 bytes, or the path of a Unix socket; empty if not set."""
        if self._storage.ss_family == AF_INET:
            return (<char *>&(<sockaddr_in *>&self._storage).sin_addr)[:4]
        if self._storage.ss_family == AF_INET6:
            return (<char *>&(<sockaddr_in6 *>&self._storage).sin6_addr)[:16]
        if self._storage.ss_family == AF_UNIX:
            return self._path()
        return b""

    cdef bytes _path(self):
        cdef sockaddr_un *un = <sockaddr_un *>&self._storage
        cdef Py_ssize_t length = <Py_ssize_t>self._length - <Py_ssize_t>sizeof(un.sun_family)
        cdef bytes path = (<char *>un.sun_path)[:max(length, 0)]
        # An abstract name may contain zero bytes; a path ends at the first one. The socket of a connecting client
        # usually has no name: its address consists of the family only.
        return path if path[:1] == b"\0" else path.partition(b"\0")[0]

    @property
    def host(self):
        """The numeric host without scope, or the path of a Unix socket (`@` and an abstract name); empty for none."""
        if self._storage.ss_family == AF_UNIX:
            path = self._path()
            return "@" + os.fsdecode(path[1:]) if path[:1] == b"\0" else os.fsdecode(path)
        return socket.inet_ntop(self._storage.ss_family, self.packed) if self._length else ""

    @property
    def port(self):
        """The port in host order; 0 for a Unix socket or no address."""
        if self._storage.ss_family == AF_INET6:
            return ntohs((<sockaddr_in6 *>&self._storage).sin6_port)
        if self._storage.ss_family == AF_UNIX:
            return 0
        return ntohs((<sockaddr_in *>&self._storage).sin_port) if self._length else 0

    @property
    def scope_id(self):
        """The IPv6 scope, or 0 for none."""
        return (<sockaddr_in6 *>&self._storage).sin6_scope_id if self._storage.ss_family == AF_INET6 else 0

    def with_port(self, int port):
        """Return the same host with another port.

        Raises ValueError unless `port` is from 0 to 65535, OSError unless this is an IP address.
        """
        return SocketAddress.of(self.host, port, self.scope_id)

    def as_tuple(self):
        """Return the address as Python's `socket` functions take it.

        (host, port) for IPv4, ("", 0) for no address, (host, port, 0, scope) for IPv6, or the path of a Unix socket.
        """
        if self._storage.ss_family == AF_INET6:
            return (self.host, self.port, 0, self.scope_id)
        if self._storage.ss_family == AF_UNIX:
            return self._path()
        return (self.host, self.port)

    def copy(self):
        """Return an equal address that is independent of this one."""
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
        if self._storage.ss_family == AF_UNIX:
            return self.host or "a Unix socket without a name"
        return f"[{self.host}]:{self.port}" if self._storage.ss_family == AF_INET6 else f"{self.host}:{self.port}"

    def __repr__(self):
        return f"SocketAddress({self})"
