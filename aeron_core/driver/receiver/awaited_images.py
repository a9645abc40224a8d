"""Images that wait for their first data, counted in total and by the network of their source.

A SETUP is easily forged, and each accepted one costs a log buffer, counters, and an image in every subscribed client.
A sender that exists sends data or a heartbeat as soon as it receives the first status message. Until then, an image
holds a *place*:

    SETUP ──take──► place ──first data or heartbeat, creation failed, log deleted──► released
      └──no place: ignored, the sender repeats its SETUP, or is asked for it again, after 100 ms

While SETUPs are refused for lack of places, the conductor ends images without data after FIRST_DATA_TIMEOUT_NS, so that
forged ones do not hold their places for the whole liveness timeout of an image.

Not here: the number of images with data (`stream_session_limit`).
Invariant: places are taken and released on the receiver; the conductor reads `is_contended` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.pointers import LongMap
from aeron_core.driver._native import operations
from aeron_core.driver._native.networks import network_of

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress

#: Time after the last refusal for which places are scarce. Invented: two default intervals of the conductor's timer,
#: which checks images without data, and a margin of a second.
CONTENTION_NS = 3_000_000_000
#: Time that an image without data lives, and lingers, while places are scarce. Invented: five repetitions of its status
#: message, so that a sender behind a network that loses half of its datagrams is accepted in 31 of 32 cases.
FIRST_DATA_TIMEOUT_NS = 1_000_000_000


class AwaitedImages:
    """The places of one driver; at most `source_limit` of the `limit` are held by one IPv4 host or IPv6 network."""

    def __init__(self, limit: int, source_limit: int) -> None:
        self._limit = limit
        self._source_limit = source_limit
        self._held = 0
        self._held_by = LongMap()
        self._refused_ns = AtomicLong()

    def take(self, source: SocketAddress, now_ns: int) -> int:
        """Take a place for an image from `source`; return it, at least 0, or a negative `operations.PLACE_REFUSED…`."""
        place = network_of(source)
        if self._held_by.get(place, 0) >= self._source_limit:
            self._refused_ns.set_release(now_ns)
            return operations.PLACE_REFUSED_TO_SOURCE
        if self._held >= self._limit:
            self._refused_ns.set_release(now_ns)
            return operations.PLACE_REFUSED
        self._held_by.put(place, self._held_by.get(place, 0) + 1)
        self._held += 1
        return place

    def release(self, place: int) -> int:
        """Release a place that `take` returned; return 0."""
        left = self._held_by.get(place, 0) - 1
        # Removed at 0, so that the map has no more entries than places are held.
        if left > 0:
            self._held_by.put(place, left)
        else:
            self._held_by.remove(place)
        self._held -= 1
        return 0

    def is_contended(self, now_ns: int) -> bool:
        """Return whether a SETUP was refused for lack of a place in the last CONTENTION_NS; for the conductor."""
        refused_ns = self._refused_ns.get_acquire()
        return refused_ns != 0 and now_ns < refused_ns + CONTENTION_NS
