"""Network interfaces of this machine with their netmasks, which Python's standard library lacks."""

import socket
from typing import NamedTuple

from libc.errno cimport errno
from libc.string cimport strerror

from aeron_core._native.address cimport AF_INET, AF_INET6, sockaddr
from aeron_core._native.address import SocketAddress

cdef extern from "<ifaddrs.h>" nogil:
    cdef struct ifaddrs:
        ifaddrs *ifa_next
        char *ifa_name
        unsigned int ifa_flags
        sockaddr *ifa_addr
        sockaddr *ifa_netmask
    int getifaddrs(ifaddrs **list)
    void freeifaddrs(ifaddrs *list)

cdef extern from "<net/if.h>" nogil:
    int _UP "IFF_UP"
    int _LOOPBACK "IFF_LOOPBACK"
    int _MULTICAST "IFF_MULTICAST"

cdef extern from *:
    """
    #include <netinet/in.h>
    static inline const char *ac_host_bytes(const struct sockaddr *a)
    {
        return AF_INET6 == a->sa_family ? (const char *)&((const struct sockaddr_in6 *)a)->sin6_addr
                                        : (const char *)&((const struct sockaddr_in *)a)->sin_addr;
    }
    static inline unsigned int ac_scope(const struct sockaddr *a)
    { return AF_INET6 == a->sa_family ? ((const struct sockaddr_in6 *)a)->sin6_scope_id : 0; }
    """
    const char *ac_host_bytes(const sockaddr *a) nogil
    unsigned int ac_scope(const sockaddr *a) nogil


class Interface(NamedTuple):
    """One address of an interface; an interface with several addresses is listed several times."""

    name: str
    address: SocketAddress  # with port 0
    prefix_length: int  # bits of the netmask
    is_up: bool
    is_loopback: bool
    is_multicast: bool


def list_interfaces():
    """Return the IPv4 and IPv6 addresses of all interfaces, in the kernel's order; raises OSError if that fails."""
    cdef ifaddrs *head = NULL
    cdef ifaddrs *entry
    if getifaddrs(&head) != 0:
        raise OSError(
            errno,
            f"cannot list network interfaces: {strerror(errno).decode()}: increase the limit of open files, or free "
            "memory",
        )
    found = []
    try:
        entry = head
        while entry != NULL:
            if entry.ifa_addr != NULL and entry.ifa_addr.sa_family in (AF_INET, AF_INET6):
                found.append(describe(entry))
            entry = entry.ifa_next
    finally:
        freeifaddrs(head)
    return found


cdef object describe(ifaddrs *entry):
    cdef int family = entry.ifa_addr.sa_family
    cdef Py_ssize_t size = 16 if family == AF_INET6 else 4
    host = socket.inet_ntop(family, (<const char *>ac_host_bytes(entry.ifa_addr))[:size])
    prefix_length = 8 * size
    if entry.ifa_netmask != NULL:
        mask = (<const char *>ac_host_bytes(entry.ifa_netmask))[:size]
        prefix_length = int.from_bytes(mask, "big").bit_count()
    flags = entry.ifa_flags
    return Interface(
        entry.ifa_name.decode(errors="surrogateescape"),
        SocketAddress.of(host, 0, ac_scope(entry.ifa_addr)),
        prefix_length,
        bool(flags & _UP),
        bool(flags & _LOOPBACK),
        bool(flags & _MULTICAST),
    )
