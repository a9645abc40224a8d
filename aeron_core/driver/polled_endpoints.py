"""The endpoints that an agent polls: all of them where they are few, else those that have something to read.

Not here: what an endpoint does when it is polled. Of an endpoint without a descriptor nobody knows whether it has
something to read, so it is polled every time.
Invariant: endpoints are borrowed; one is taken out before its sockets are closed.
Source: aeron_udp_transport_poller.c.
"""

from __future__ import annotations

import cython

from aeron_core._native import wire
from aeron_core._native.pointers import PointerList
from aeron_core._native.readiness import ReadinessSet
from aeron_core.driver._native import operations
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint


class PolledEndpoints:
    """Base of both kinds, which borrow what they poll; used by one agent."""

    def __init__(self) -> None:
        self._all = PointerList()
        self._unwatched = PointerList()
        self._watched = ReadinessSet()

    def append(self, endpoint: object) -> int:
        """Poll an endpoint from now on; return how many there are."""
        descriptor = self._descriptor_of(endpoint)
        if descriptor == wire.NO_DESCRIPTOR or not self._watched.add(descriptor, endpoint):
            self._unwatched.append(endpoint)
        return self._all.append(endpoint)

    def remove(self, endpoint: object) -> int:
        """Poll an endpoint no more; return how many there are."""
        if self._all.remove(endpoint) and not self._unwatched.remove(endpoint):
            self._watched.remove(self._descriptor_of(endpoint))
        return self._all.size

    def poll(self, now_ns: int) -> int:
        """Poll all that may have something to read; return the work that they did."""
        work = 0
        if self._all.size <= operations.POLL_ALL_LIMIT:
            for i in range(self._all.size):
                work += self._poll_one(self._all.at(i), now_ns)
            return work
        for i in range(self._unwatched.size):
            work += self._poll_one(self._unwatched.at(i), now_ns)
        for i in range(self._watched.wait()):
            work += self._poll_one(self._watched.at(i), now_ns)
        return work

    def _descriptor_of(self, endpoint: object) -> int:
        return wire.NO_DESCRIPTOR

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return 0


class PolledSendEndpoints(PolledEndpoints):
    """The sending ends of channels, on the sender."""

    def _descriptor_of(self, endpoint: object) -> int:
        return cython.cast(SendChannelEndpoint, endpoint).descriptor()

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return cython.cast(SendChannelEndpoint, endpoint).poll(now_ns)


class PolledReceiveEndpoints(PolledEndpoints):
    """The receiving ends of channels, on the receiver."""

    def _descriptor_of(self, endpoint: object) -> int:
        return cython.cast(ReceiveChannelEndpoint, endpoint).descriptor()

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return cython.cast(ReceiveChannelEndpoint, endpoint).poll(now_ns)
