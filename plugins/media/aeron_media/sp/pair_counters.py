"""Counters of an endpoint, which publish the tallies of its socket; each endpoint has its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native.counter import AtomicCounter
from aeron_core._native.pointers import PointerList
from aeron_media.sp._native import bounds, tallies
from aeron_media.sp._native.tallies import Tallies

if TYPE_CHECKING:
    from aeron_core.spi.media import EndpointParams

#: Counters of connections, on both kinds of endpoints.
CONNECTIONS: Final = {
    tallies.PEERS: "sp-peers",
    tallies.ACCEPTED: "sp-accepted",
    tallies.ATTEMPTS: "sp-attempts",
    tallies.REFUSED: "sp-refused",
    tallies.REFUSALS: "sp-refused-by-peer",
    tallies.MISMATCHED: "sp-mismatched",
    tallies.MALFORMED: "sp-malformed",
    tallies.SILENT: "sp-silent",
    tallies.TURNED_AWAY: "sp-turned-away",
    tallies.LOST: "sp-lost",
    tallies.MEMORY: "sp-memory",
}
#: The counters above that count refused peers, by this end or by the peer.
REFUSALS: Final = frozenset(
    {
        tallies.REFUSED,
        tallies.REFUSALS,
        tallies.MISMATCHED,
        tallies.MALFORMED,
        tallies.SILENT,
        tallies.TURNED_AWAY,
    }
)
RECEIVING: Final = {
    tallies.MESSAGES_IN: "sp-messages-received",
    tallies.BYTES_IN: "sp-bytes-received",
    tallies.TOO_LONG: "sp-rejects-length",
    tallies.OVER_TTL: "sp-discards-ttl",
    tallies.ZERO_HOPS: "sp-discards-zero-hops",
    tallies.RESERVED_BITS: "sp-discards-reserved-bits",
    tallies.SHORT: "sp-discards-short",
}
SENDING: Final = {
    tallies.MESSAGES_OUT: "sp-messages-sent",
    tallies.BYTES_OUT: "sp-bytes-sent",
    tallies.NO_PEER: "sp-unsent-no-peer",
    tallies.PEER_FULL: "sp-unsent-peer-full",
    tallies.HOPS_SPENT: "sp-unsent-hops",
    tallies.UNSENDABLE: "sp-unsent-length",
}


class PairCounters:
    """Counters of one endpoint, by tally index."""

    def __init__(self, params: EndpointParams, kinds: Sequence[dict[int, str]]) -> None:
        self._counters = {
            index: (params.new_refusal_counter if index in REFUSALS else params.new_counter)(name)
            for kind in kinds
            for index, name in kind.items()
        }
        self._shown = PointerList()
        for index in range(tallies.COUNT):
            counter = self._counters.get(index)
            self._shown.append(
                cython.NULL if counter is None else cython.cast(cython.pointer(PyObject), counter)
            )
        self._next_ns = 0

    def show_if_due(self, source: Tallies, now_ns: int) -> int:
        """Set the counters to the tallies of `source`, at most once per SWEEP_INTERVAL_NS; return 0."""
        if now_ns < self._next_ns:
            return 0
        self._next_ns = now_ns + bounds.SWEEP_INTERVAL_NS
        return self.show(source)

    def show(self, source: Tallies) -> int:
        """Set the counters to the tallies of `source`; return 0."""
        for index in range(tallies.COUNT):
            if self._shown.at(index) != cython.NULL:
                cython.cast(AtomicCounter, self._shown.at(index)).set_release(source.get(index))
        return 0
