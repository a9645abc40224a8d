"""Links of the simulated network: rules and random numbers by which they drop, duplicate, delay and reorder datagrams.

The behaviour of a link depends on its rule, the seed, the two addresses and the number of earlier datagrams on it, not
on other links.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class SimulatedLink:
    """Behaviour of one direction of a path; shares are from 0 to 1."""

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0  # share of datagrams that are delayed so that later ones overtake them
    latency_ns: int = 0
    jitter_ns: int = 0  # maximum additional delay, uniformly distributed
    hold_back_ns: int = 1_000_000  # delay of reordered datagrams
    is_partitioned: bool = False


class Fate(Enum):
    """Outcome of a datagram."""

    DELIVERED = "delivered"
    DUPLICATED = "duplicated"
    LOST = "lost"
    PARTITIONED = "partitioned"
    UNREACHABLE = "unreachable"  # no socket is bound to the destination
    OVERFLOWED = "overflowed"  # the receiver's socket buffer was full

    # Faster than that of Enum, which is a function of Python: a simulation counts millions of datagrams.
    __hash__ = object.__hash__


class Passage(NamedTuple):
    """Behaviour of a link for one datagram."""

    fate: Fate  # DELIVERED, LOST or PARTITIONED
    delay_ns: int
    is_doubled: bool


class SimulatedLinks:
    """Rules for the directions between ends, and a random generator for each pair of addresses."""

    def __init__(self, seed: int, default: SimulatedLink) -> None:
        self._seed = seed
        self._rules: dict[tuple[str | None, str | None], SimulatedLink] = {(None, None): default}
        #: Cache of rules and generators by source and destination of a datagram, which `set` clears: few pairs occur.
        self._found: dict[tuple[str, str], tuple[SimulatedLink, Callable[[], float]]] = {}
        self._randoms: dict[tuple[str, str], random.Random] = {}

    def set(self, link: SimulatedLink, source: str | None, destination: str | None) -> None:
        """Set the rule of a direction; see `SimulatedNetwork.set_link`."""
        self._rules[source, destination] = link
        self._found.clear()

    def remove(self, source: str, destination: str) -> None:
        """Remove the rule of a direction, if it has one."""
        self._rules.pop((source, destination), None)
        self._found.clear()

    def draw(self, source: str, destination: str) -> Passage:
        """Return the behaviour for the next datagram from `source` to `destination`, both `host:port`."""
        direction = (source, destination)
        link, chance = self._found.get(direction) or self._find(direction)
        # Always draw the same number of random values, so that a change of one share does not affect the others.
        lost, doubled, held, late = chance(), chance(), chance(), chance()
        fate = Fate.DELIVERED
        if link.is_partitioned:
            fate = Fate.PARTITIONED
        elif lost < link.loss:
            fate = Fate.LOST
        delay_ns = link.latency_ns + int(late * link.jitter_ns)
        if held < link.reordering:
            delay_ns += link.hold_back_ns
        return Passage(fate, delay_ns, doubled < link.duplication)

    def _find(self, direction: tuple[str, str]) -> tuple[SimulatedLink, Callable[[], float]]:
        chance = self._randoms.get(direction)
        if chance is None:
            source, destination = direction
            chance = self._randoms[direction] = random.Random(f"{self._seed} {source} {destination}")
        found = self._found[direction] = (self._rule(*direction), chance.random)
        return found

    def _rule(self, source: str, destination: str) -> SimulatedLink:
        for to in (destination, host_of(destination), None):
            for origin in (source, host_of(source), None):
                found = self._rules.get((origin, to))
                if found is not None:
                    return found
        return SimulatedLink()


def host_of(address: str) -> str:
    """Return the host of `host:port`, without the brackets of IPv6; empty for text without a port."""
    return address.rpartition(":")[0].strip("[]")
