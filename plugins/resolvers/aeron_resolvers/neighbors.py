"""Neighbour table: drivers that receive names, and candidates, which must answer before they do.

A candidate is an address from a packet. It becomes a neighbour when it has answered:

    state      entered by                                   receives
    candidate  a packet that names the address              the own name, within the limit for unproven addresses
    neighbour  a packet from the address itself, after the  the own name and the names of others, at the intervals
               own name was sent to it                      of the settings

Invariant: regardless of input, an address that has not answered and is not from the settings receives at most
`MAX_AMPLIFICATION` times the bytes of the entries that named it, so that forged packets do not make this driver flood a
third party. The reference has no such limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aeron_resolvers.peer import GossipPeer

# Invented: the reference has no limits. 1024 is more drivers than gossip between all pairs of them scales to. 256
# introductions per second admit a whole cluster of fifty at once, when a neighbour first sends its names.
MAX_NEIGHBORS: Final = 1024
MAX_CANDIDATES: Final = 1024
MAX_INTRODUCTIONS_PER_S: Final = 256
#: The limit of QUIC for addresses that are not validated (RFC 9000, section 8.1).
MAX_AMPLIFICATION: Final = 3

_S_MS: Final = 1000


@dataclass(slots=True)
class _Candidate:
    time_ms: int  # time of the last packet that named it
    credit: int = 0  # bytes that may still be sent to it
    asked_ms: int | None = None  # time when the own name was last sent to it


class Neighbors:
    """Neighbours and candidates of one driver; times are milliseconds, lengths bytes. Used by one thread."""

    def __init__(self, self_length: int, timeout_ms: int, self_interval_ms: int, now_ms: int) -> None:
        self._self_length = self_length
        self._timeout_ms = timeout_ms
        self._self_interval_ms = self_interval_ms
        self._neighbors: dict[GossipPeer, int] = {}
        self._candidates: dict[GossipPeer, _Candidate] = {}
        self._trusted: frozenset[GossipPeer] = frozenset()
        # An ordered set, as a dict: peers to which the own name is sent without waiting for the interval.
        self._prompt: dict[GossipPeer, None] = {}
        self._introductions = 0
        self._introductions_since_ms = now_ms
        #: Number of drivers refused by a limit.
        self.refused_count = 0

    def __contains__(self, peer: GossipPeer) -> bool:
        """Return whether a neighbour has this address."""
        return peer in self._neighbors

    def __len__(self) -> int:
        """Return the number of neighbours."""
        return len(self._neighbors)

    @property
    def peers(self) -> list[GossipPeer]:
        """Addresses of all neighbours."""
        return list(self._neighbors)

    @property
    def candidates(self) -> list[GossipPeer]:
        """Addresses that have not answered yet."""
        return list(self._candidates)

    def trust(self, peers: Iterable[GossipPeer]) -> None:
        """Set the addresses from the settings; any packet from them counts as an answer.

        They receive the own name in any case.
        """
        self._trusted = frozenset(peers)

    def on_self(self, peer: GossipPeer, length: int, time_ms: int, now_ms: int) -> None:
        """Process an entry of `length` bytes about `peer`, valid at `time_ms`, in a packet from `peer` itself."""
        if peer in self._neighbors:
            # The age in a packet may be forged: it must not make the neighbour older.
            self._neighbors[peer] = max(self._neighbors[peer], time_ms)
            return
        candidate = self._candidates.get(peer)
        if peer in self._trusted or (candidate is not None and candidate.asked_ms is not None):
            self._promote(peer, time_ms)
            return
        if candidate is None:
            if len(self._candidates) >= MAX_CANDIDATES:
                # A driver that sends packets itself replaces the oldest candidate; one that others name is refused.
                self._forget(next(iter(self._candidates)))
                self.refused_count += 1
            candidate = self._candidates[peer] = _Candidate(now_ms)
        self._ask(peer, candidate, length, now_ms)

    def on_introduction(self, peer: GossipPeer, length: int, now_ms: int) -> None:
        """Process an entry of `length` bytes about `peer` in a packet from another address."""
        if peer in self._neighbors or peer in self._trusted:
            return
        candidate = self._candidates.get(peer)
        if candidate is None:
            if len(self._candidates) >= MAX_CANDIDATES or not self._may_introduce(now_ms):
                self.refused_count += 1
                return
            candidate = self._candidates[peer] = _Candidate(now_ms)
        self._ask(peer, candidate, length, now_ms)

    def take_prompt(self) -> GossipPeer | None:
        """Return the next address to which the own name is to be sent now, or None; each is returned once."""
        while self._prompt:
            peer = next(iter(self._prompt))
            del self._prompt[peer]
            # The peer may have been removed from both tables since it was added here.
            if peer in self._neighbors or peer in self._candidates:
                return peer
        return None

    def remove_silent(self, now_ms: int) -> int:
        """Remove neighbours and candidates that timed out; return how many."""
        oldest_ms = now_ms - self._timeout_ms
        silent = [peer for peer, time_ms in self._neighbors.items() if time_ms <= oldest_ms]
        for peer in silent:
            del self._neighbors[peer]
        unproven = [peer for peer, one in self._candidates.items() if one.time_ms <= oldest_ms]
        for peer in unproven:
            self._forget(peer)
        return len(silent) + len(unproven)

    def _ask(self, peer: GossipPeer, candidate: _Candidate, length: int, now_ms: int) -> None:
        candidate.time_ms = now_ms
        candidate.credit += length * MAX_AMPLIFICATION
        # The limit includes the headers: otherwise, many short packets would exceed it on the wire.
        cost = self._self_length + peer.headers_length
        is_recent = candidate.asked_ms is not None and now_ms - candidate.asked_ms < self._self_interval_ms
        if candidate.credit < cost or is_recent:
            return
        candidate.credit -= cost
        candidate.asked_ms = now_ms
        self._prompt[peer] = None

    def _promote(self, peer: GossipPeer, time_ms: int) -> None:
        # Neighbours from the settings are few, and forged ones must not keep them out of a full table.
        if len(self._neighbors) >= MAX_NEIGHBORS and peer not in self._trusted:
            self.refused_count += 1
            return
        self._forget(peer)
        self._neighbors[peer] = time_ms
        # The peer needs an answer too. Send it at once, so that both are neighbours after three packets.
        self._prompt[peer] = None

    def _forget(self, peer: GossipPeer) -> None:
        self._candidates.pop(peer, None)
        self._prompt.pop(peer, None)

    def _may_introduce(self, now_ms: int) -> bool:
        if now_ms - self._introductions_since_ms >= _S_MS:
            self._introductions_since_ms = now_ms
            self._introductions = 0
        self._introductions += 1
        return self._introductions <= MAX_INTRODUCTIONS_PER_S
