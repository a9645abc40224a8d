"""Cost of client calls on a log in memory, without a driver: `python benchmarks/client.py`.

Each number is the best of many rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from aeron_core import ExclusivePublication, FragmentAssembler, Publication
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams

TERM_LENGTH = 16 * 1024 * 1024
MESSAGE = bytes(32)
CALLS = 100_000
BATCH = 4096
ROUNDS = 10
NS_PER_S = 1e9


class Stream:
    """A publication and a subscription on one log; the publisher limit is never reached."""

    def __init__(self, kind: type[Publication] | type[ExclusivePublication]) -> None:
        params = LogBufferParams(
            initial_term_id=7, term_length=TERM_LENGTH, mtu_length=1408, session_id=1, stream_id=2
        )
        self.log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
        self.log.set_is_connected(True)
        values = AtomicBuffer.allocate(256)
        values.put_i64(0, 1 << 50)
        self.publication = kind(
            PublicationArguments(
                owner=None,
                channel="aeron:ipc",
                stream_id=2,
                session_id=1,
                registration_id=1,
                original_registration_id=1,
                channel_status_id=-1,
                position_limit_id=0,
                log=self.log,
                limit=values,
            )
        )
        self.subscription = Subscription(None, "aeron:ipc", 2, 3, -1)
        self.subscription.add_image(
            Image(self.subscription, 1, self.log, AtomicCounter(values, 1), "aeron:ipc", 4)
        )

    def clean(self) -> None:
        """Do the driver's part: clear consumed data."""
        self.log.buffer.set_memory(0, 3 * TERM_LENGTH, 0)


def offers(stream: Stream) -> float:
    stream.clean()
    offer = stream.publication.offer
    start = time.perf_counter()
    for _ in range(CALLS):
        offer(MESSAGE)
    return (time.perf_counter() - start) / CALLS * NS_PER_S


def polls(stream: Stream, handler: Callable[..., object]) -> float:
    fragments = 0
    start = time.perf_counter()
    while count := stream.subscription.poll(handler, 1000):
        fragments += count
    return (time.perf_counter() - start) / fragments * NS_PER_S


def batches(stream: Stream) -> float:
    data, offsets = bytes(len(MESSAGE) * BATCH), np.arange(0, len(MESSAGE) * BATCH + 1, len(MESSAGE))
    stream.clean()
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        sent = stream.publication.offer_batch(data, offsets)
        received = len(stream.subscription.poll_batch(BATCH))
        elapsed = time.perf_counter() - start
        if sent == received == BATCH:
            best = min(best, elapsed / BATCH)
    return best * NS_PER_S


def lists(stream: Stream) -> tuple[float, float]:
    """Return the time of `offer_many` and of `poll_many`, each for a message."""
    messages = [bytes(MESSAGE) for _ in range(BATCH)]
    stream.clean()
    offered = polled = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        sent = stream.publication.offer_many(messages)
        between = time.perf_counter()
        received = stream.subscription.poll_many(BATCH)
        end = time.perf_counter()
        if sent == len(received) == BATCH:
            offered = min(offered, (between - start) / BATCH)
            polled = min(polled, (end - between) / BATCH)
    return offered * NS_PER_S, polled * NS_PER_S


def on_fragment(buffer: memoryview, header: object) -> None:
    pass


def main() -> None:
    for kind in (Publication, ExclusivePublication):
        stream = Stream(kind)
        offer_ns = poll_ns = assembled_ns = float("inf")
        for _ in range(ROUNDS):
            offer_ns = min(offer_ns, offers(stream))
            poll_ns = min(poll_ns, polls(stream, on_fragment))
            offers(stream)
            assembled_ns = min(assembled_ns, polls(stream, FragmentAssembler(on_fragment)))
        batch_ns = min(batches(stream) for _ in range(ROUNDS))
        rounds = [lists(stream) for _ in range(ROUNDS)]
        offer_many_ns, poll_many_ns = (min(times) for times in zip(*rounds, strict=True))
        print(f"{kind.__name__}, messages of {len(MESSAGE)} bytes")
        print(f"  offer(bytes)                        {offer_ns:7.1f} ns")
        print(f"  poll, a fragment                    {poll_ns:7.1f} ns")
        print(f"  poll through a FragmentAssembler    {assembled_ns:7.1f} ns")
        print(f"  offer_many, a message of a list     {offer_many_ns:7.1f} ns")
        print(f"  poll_many, a message of a list      {poll_many_ns:7.1f} ns")
        print(f"  offer_batch and poll_batch together {batch_ns:7.1f} ns, {1e3 / batch_ns:.1f} million/s")


if __name__ == "__main__":
    main()
