"""Images, and those of them that wait for their first data, counted in total and by the network of their source.

A SETUP is easily forged, and each accepted one costs a log buffer, counters, and an image in every subscribed client.
A sender that exists sends data or a heartbeat as soon as it receives the first status message. Until then, an image
holds a *permit*:

    SETUP ──take──► permit ──first data or heartbeat, creation failed, log deleted──► released
      └──no permit: ignored, the sender repeats its SETUP, or is asked for it again, after 100 ms

Data is forged as easily as a SETUP, so images with data are limited too: each image is counted from `take` to
`stop_counting`, when its log is deleted or its creation failed.

While SETUPs are refused for lack of permits, the conductor ends images without data after FIRST_DATA_TIMEOUT_NS, so
that forged ones do not hold their permits for the whole liveness timeout of an image.

Not here: the number of images of one stream (`stream_session_limit`).
Invariant: permits are taken and released on the receiver; the conductor calls `is_contended` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.pointers import LongMap
from aeron_core.driver._native import operations
from aeron_core.driver._native.networks import network_of

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress

#: Time after the last refusal for which permits count as scarce. Invented: two default intervals of the conductor's
#: timer, which checks images without data, and a margin of a second.
CONTENTION_NS = 3_000_000_000
#: Time that an image without data lives, and lingers, while permits are scarce. Invented: five repetitions of its
#: status message, so that a sender behind a network that loses half of its datagrams is accepted in 31 of 32 cases.
FIRST_DATA_TIMEOUT_NS = 1_000_000_000


class NetworkCounts:
    """Counts by network; at most `source_limit` of the `limit` are of one IPv4 host or IPv6 network."""

    def __init__(self, limit: int, source_limit: int) -> None:
        self._limit = limit
        self._source_limit = source_limit
        self._count = 0
        self._counts = LongMap()

    def is_source_full(self, network: int) -> bool:
        """Return whether a network has reached its limit."""
        return self._counts.get(network, 0) >= self._source_limit

    def is_full(self) -> bool:
        """Return whether all networks together have reached the limit."""
        return self._count >= self._limit

    def add(self, network: int) -> int:
        """Count one more for a network; return 0."""
        self._counts.put(network, self._counts.get(network, 0) + 1)
        self._count += 1
        return 0

    def remove(self, network: int) -> int:
        """Undo one `add` with the same network; return 0."""
        left = self._counts.get(network, 0) - 1
        # Removed at 0, so that the map has no more entries than are counted.
        if left > 0:
            self._counts.put(network, left)
        else:
            self._counts.remove(network)
        self._count -= 1
        return 0


class AwaitedImages:
    """The permits of one driver, of images without data and of all images; each has a limit and one per source."""

    def __init__(self, awaited: NetworkCounts, images: NetworkCounts) -> None:
        self._awaited = awaited
        self._images = images
        self._refused_ns = AtomicLong()

    def take(self, source: SocketAddress, now_ns: int) -> int:
        """Take a permit for an image from `source`; return it, at least 0, or a negative `operations.…_REFUSED…`."""
        permit = network_of(source)
        refusal = self._refusal(permit)
        if refusal != 0:
            self._refused_ns.set_release(now_ns)
            return refusal
        self._awaited.add(permit)
        self._images.add(permit)
        return permit

    def _refusal(self, network: int) -> int:
        if self._awaited.is_source_full(network):
            return operations.PERMIT_REFUSED_TO_SOURCE
        if self._awaited.is_full():
            return operations.PERMIT_REFUSED
        if self._images.is_source_full(network):
            return operations.IMAGE_REFUSED_TO_SOURCE
        return operations.IMAGE_REFUSED if self._images.is_full() else 0

    def release(self, permit: int) -> int:
        """Release a permit that `take` returned, of an image that has data or was deleted; return 0."""
        return self._awaited.remove(permit)

    def stop_counting(self, permit: int) -> int:
        """Stop counting the image of a permit, once nothing of it is left; return 0."""
        return self._images.remove(permit)

    def is_contended(self, now_ns: int) -> bool:
        """Return whether a SETUP was refused for lack of a permit in the last CONTENTION_NS; for the conductor."""
        refused_ns = self._refused_ns.get_acquire()
        return refused_ns != 0 and now_ns < refused_ns + CONTENTION_NS
