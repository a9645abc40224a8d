"""Endpoints that an agent polls: all of them if they are few, otherwise only those with data to read.

An endpoint without a file descriptor, or whose descriptor epoll does not accept, is polled every time.
Not here: what an endpoint does when it is polled.
Invariant: endpoints are borrowed references; an endpoint is removed before its sockets are closed.
Source: aeron_udp_transport_poller.c.
"""

from __future__ import annotations

import cython

from aeron_core._native import wire
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core._native.pointers import PointerList
from aeron_core._native.readiness import ReadinessSet
from aeron_core.driver._native import operations
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint


class PolledEndpoints:
    """Endpoints that one agent polls; base of the lists of the sender and of the receiver.

    `batch`: what those for datagrams receive into, one by one.
    """

    # The compiled class sets all six to 0. `_next` and `_next_ready` are the indexes at which a loop over the
    # endpoints begins: 0, unless an endpoint raised an exception in the last loop.
    has_received: bool
    _is_watching: bool
    _is_full: bool
    _next: int
    _next_ready: int
    _ready_count: int

    def __init__(self, batch: ReceiveBatch | None = None) -> None:
        self._batch = ReceiveBatch() if batch is None else batch
        self._all = PointerList()
        self._unwatched = PointerList()
        self._watched = ReadinessSet()

    def append(self, endpoint: object) -> int:
        """Add a borrowed endpoint; return the number of endpoints."""
        # Add the endpoint to `_all` in any case: this list is polled while there are few endpoints.
        descriptor = self._descriptor_of(endpoint)
        if descriptor == wire.NO_DESCRIPTOR or not self._watched.add(descriptor, endpoint):
            self._unwatched.append(endpoint)
        return self._all.append(endpoint)

    def remove(self, endpoint: object) -> int:
        """Remove an endpoint, if it is in the list; return the number of endpoints that are left."""
        # The endpoint may be in the list of ready ones: discard the list.
        self._ready_count = 0
        if self._all.remove(endpoint) and not self._unwatched.remove(endpoint):
            self._watched.remove(self._descriptor_of(endpoint))
        return self._all.size

    def are_watched(self) -> bool:
        """Return whether `descriptor` is readable whenever an endpoint has something to read."""
        return self._unwatched.size == 0

    @property
    def descriptor(self) -> int:
        """The descriptor of the set of watched endpoints."""
        return self._watched.descriptor

    def poll(self, now_ns: int) -> int:
        """Poll the endpoints that may have data; return the sum of their results: frames if sending, else bytes.

        If an endpoint raises, so does this method; the next call continues with the endpoint after it, so that it
        cannot starve the others.
        """
        work = self._poll(now_ns)
        self.has_received = work > 0
        return work

    def take_full(self) -> bool:
        """Return whether an endpoint has filled its slots since the last call: more datagrams may have arrived."""
        is_full = self._is_full
        self._is_full = False
        return is_full

    def _poll(self, now_ns: int) -> int:
        # For a few endpoints, receiving from each is cheaper than asking the kernel first which of them are ready.
        is_watching = self._all.size > operations.POLL_ALL_LIMIT
        if is_watching != self._is_watching:
            # The indexes are those of the lists that were polled until now.
            self._is_watching = is_watching
            self._next = 0
            self._next_ready = 0
        if not is_watching:
            return self._walk(self._all, now_ns)
        work = self._walk(self._unwatched, now_ns)
        # After an endpoint raised, first finish the list of ready endpoints in which it was.
        if self._next_ready == 0:
            self._ready_count = self._watched.wait()
        while self._next_ready < self._ready_count:
            index = self._next_ready
            # Advance before the poll: if it raises, the next call continues this list with the endpoint after this one.
            self._next_ready += 1
            work += self._poll_next(self._watched.at(index), now_ns)
        self._next_ready = 0
        return work

    def _walk(self, endpoints: PointerList, now_ns: int) -> int:
        work = 0
        while self._next < endpoints.size:
            index = self._next
            # Advance before the poll: if it raises, the next walk begins with the endpoint after this one.
            self._next += 1
            work += self._poll_next(endpoints.at(index), now_ns)
        self._next = 0
        return work

    def _poll_next(self, endpoint: object, now_ns: int) -> int:
        # Reset: not all endpoints receive into the batch.
        self._batch.received = 0  # type: ignore[misc] # writable for compiled modules
        received = self._poll_one(endpoint, now_ns)
        if self._batch.received == self._batch.slots:
            self._is_full = True
        return received

    def _descriptor_of(self, endpoint: object) -> int:
        return wire.NO_DESCRIPTOR

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return 0


class PolledSendEndpoints(PolledEndpoints):
    """Send channel endpoints, polled by the sender."""

    def _descriptor_of(self, endpoint: object) -> int:
        return cython.cast(SendChannelEndpoint, endpoint).descriptor()

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return cython.cast(SendChannelEndpoint, endpoint).poll(now_ns)


class PolledReceiveEndpoints(PolledEndpoints):
    """Receive channel endpoints, polled by the receiver."""

    def _descriptor_of(self, endpoint: object) -> int:
        return cython.cast(ReceiveChannelEndpoint, endpoint).descriptor()

    def _poll_one(self, endpoint: object, now_ns: int) -> int:
        return cython.cast(ReceiveChannelEndpoint, endpoint).poll(now_ns)
