"""A counter that describes one peer of a channel endpoint to clients: its session, address and maximum message length.

Not here: which peers exist. One agent writes it at a time. A client reads the value, the key, and the value again: if
the session is unchanged and its peer connected, the key belongs to it.
"""

cimport cython
from libc.stdint cimport uint8_t, uint16_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset, strlen

from aeron_core._native.address cimport AF_INET, AF_INET6, AF_UNIX, socklen_t
from aeron_core._native.buffer cimport ac_fence_release

cdef extern from "<arpa/inet.h>" nogil:
    const char *inet_ntop(int family, const void *source, char *target, socklen_t length)
    uint16_t ntohs(uint16_t value)

cdef extern from "<netinet/in.h>" nogil:
    cdef struct in_addr:
        pass
    cdef struct in6_addr:
        pass
    cdef struct sockaddr_in:
        uint16_t sin_port
        in_addr sin_addr
    cdef struct sockaddr_in6:
        uint16_t sin6_port
        in6_addr sin6_addr

cdef extern from "<sys/un.h>" nogil:
    cdef struct sockaddr_un:
        unsigned short sun_family
        char sun_path[108]


# Write the address as text without the GIL; return its length, 0 if it is not set. `text`: at least
# PEER_KEY_TEXT_MAX_LENGTH + 1 zero bytes.
cdef int32_t put_text(SocketAddress address, char *text) except -1 nogil:
    cdef char host[64]
    cdef sockaddr_in *ip4 = <sockaddr_in *>&address._storage
    cdef sockaddr_in6 *ip6 = <sockaddr_in6 *>&address._storage
    cdef sockaddr_un *un = <sockaddr_un *>&address._storage
    cdef int64_t length
    if not address.is_set():
        return 0
    if address._storage.ss_family == AF_INET6:
        if inet_ntop(AF_INET6, &ip6.sin6_addr, host, sizeof(host)) != NULL:
            snprintf(text, PEER_KEY_TEXT_MAX_LENGTH, b"[%s]:%d", host, <int>ntohs(ip6.sin6_port))
    elif address._storage.ss_family == AF_INET:
        if inet_ntop(AF_INET, &ip4.sin_addr, host, sizeof(host)) != NULL:
            snprintf(text, PEER_KEY_TEXT_MAX_LENGTH, b"%s:%d", host, <int>ntohs(ip4.sin_port))
    elif address._storage.ss_family == AF_UNIX:
        length = <int64_t>address._length - <int64_t>sizeof(un.sun_family)
        if length > 0:
            memcpy(text, un.sun_path, min(length, <int64_t>PEER_KEY_TEXT_MAX_LENGTH))
            if text[0] == 0:
                text[0] = c"@"
    return <int32_t>strlen(text)


@cython.final
cdef class PeerCounter:
    """Publishes one peer in `counter` and in its key in `metadata`; raises IndexError if the key is out of range."""

    def __cinit__(self, AtomicCounter counter not None, AtomicBuffer metadata not None):
        self.counter = counter
        self._metadata = metadata
        self._key_offset = <int64_t>counter.id * wire.COUNTER_METADATA_LENGTH + wire.COUNTER_KEY_OFFSET
        metadata.check(self._key_offset, wire.COUNTER_KEY_MAX_LENGTH)

    cdef int32_t admit(self, int32_t session_id, int64_t space, SocketAddress address) except -1 nogil:
        """Publish a peer that has connected; return 0. `space`: bytes of the longest message that it accepts now."""
        cdef char text[128]
        memset(text, 0, sizeof(text))
        cdef int32_t length = put_text(address, text)
        # 0, no peer, while the key changes: a client compares the sessions that it reads before and after the key.
        self.counter.set_release(0)
        # A store with release may be reordered with later stores. The fence keeps those of the key after it, and pairs
        # with the acquire fence of the client between its load of the key and its second load of the value.
        ac_fence_release()
        cdef int64_t at = self._key_offset + PEER_KEY_TEXT_OFFSET
        self._metadata.copy_in(at, <const uint8_t *>text, PEER_KEY_TEXT_MAX_LENGTH)
        self._metadata.put_i32_release(self._key_offset, length)
        return self.show(session_id, space)
