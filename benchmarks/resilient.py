"""Cost of calls through a resilient client beside the plain ones, without a driver: `python benchmarks/resilient.py`.

Each number is the best of many rounds, in processor time.
"""

from __future__ import annotations

import time

import client

from aeron_core import ExclusivePublication, Publication
from aeron_core.resilient.publications import ResilientExclusivePublication, ResilientPublication
from aeron_core.resilient.subscription import ResilientSubscription

CALLS = 100_000
ROUNDS = 8
KINDS = ((Publication, ResilientPublication), (ExclusivePublication, ResilientExclusivePublication))


class Owner:
    """A client that is open."""

    is_closed = False


class ResilientStream:
    """The resilient objects over those of a plain stream."""

    def __init__(self, plain: client.Stream, kind: type) -> None:
        self.clean = plain.clean
        self.publication = kind(Owner(), plain.publication)
        self.subscription = ResilientSubscription(
            Owner(), plain.subscription, None, on_available_image=None, on_unavailable_image=None
        )


def empty_polls(stream: client.Stream) -> float:
    poll = stream.subscription.poll
    start = time.process_time()
    for _ in range(CALLS):
        poll(client.on_fragment, 10)
    return (time.process_time() - start) / CALLS * client.NS_PER_S


def measured(stream: client.Stream) -> tuple[float, float, float, float]:
    offer_ns = client.offers(stream)
    poll_ns = client.polls(stream, client.on_fragment)
    return offer_ns, poll_ns, empty_polls(stream), client.batches(stream)


def main() -> None:
    client.time.perf_counter = time.process_time
    for kind, resilient_kind in KINDS:
        plain = client.Stream(kind)
        resilient = ResilientStream(plain, resilient_kind)
        rounds = [(measured(plain), measured(resilient)) for _ in range(ROUNDS)]
        print(f"{kind.__name__}, messages of {len(client.MESSAGE)} bytes: plain, resilient, difference")
        names = (
            "offer(bytes)",
            "poll, a fragment of 1000 in a call",
            "poll without a fragment",
            "offer_batch and poll_batch, a message",
        )
        for index, name in enumerate(names):
            one, other = (min(both[side][index] for both in rounds) for side in (0, 1))
            print(f"  {name:38} {one:7.1f} ns {other:7.1f} ns {other - one:7.1f} ns {other / one - 1:7.1%}")


if __name__ == "__main__":
    main()
