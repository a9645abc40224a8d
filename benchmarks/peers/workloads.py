"""Equal workloads for both libraries; run as a program by `run.py` under either Python.

    workloads.py LIBRARY WORKLOAD CHANNEL LENGTH SECONDS

Every workload runs for SECONDS before it is measured for SECONDS: allocating the pages of a log buffer costs more than
moving messages, and happens once per page.
"""

from __future__ import annotations

import functools
import json
import socket
import sys
import time
from collections.abc import Callable


class Ours:
    """aeron-core: embedded driver, client in the same process."""

    def __init__(self) -> None:
        import aeron_core

        self.driver = aeron_core.MediaDriver.launch_embedded()
        self.aeron = aeron_core.connect(self.driver.aeron_dir)

    def pair(self, channel: str, stream_id: int, *, is_exclusive: bool = True):
        add = self.aeron.add_exclusive_publication if is_exclusive else self.aeron.add_publication
        channel = with_free_port(channel)
        subscription = self.aeron.add_subscription(channel, stream_id)
        publication = add(channel, stream_id)
        publication.await_connected(timeout=10)
        return subscription, publication

    @staticmethod
    def is_sent(result: int) -> bool:
        return result > 0

    def close(self) -> None:
        self.aeron.close()
        self.driver.close()


class Theirs:
    """pyaeron: the same, with its embedded C driver."""

    def __init__(self) -> None:
        import pyaeron

        self.driver = pyaeron.MediaDriver(threading="dedicated")
        self.aeron = pyaeron.Aeron(dir=self.driver.dir)

    def pair(self, channel: str, stream_id: int, *, is_exclusive: bool = True):
        add = self.aeron.add_exclusive_publication if is_exclusive else self.aeron.add_publication
        channel = with_free_port(channel)
        subscription = self.aeron.add_subscription(channel, stream_id)
        publication = add(channel, stream_id)
        publication.await_connected(10)
        return subscription, publication

    @staticmethod
    def is_sent(result: object) -> bool:
        return result is True

    def close(self) -> None:
        self.aeron.close()
        self.driver.close()


def with_free_port(channel: str) -> str:
    """Return `aeron:udp` with a free port; return any other channel unchanged."""
    if channel != "aeron:udp":
        return channel
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"{channel}?endpoint=127.0.0.1:{probe.getsockname()[1]}"


def _rate(step: Callable[[], int], seconds: float) -> float:
    """Call `step` repeatedly; return the messages per second that it received."""
    rate = 0.0
    for _ in ("warm up", "measure"):
        received = 0
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            for _ in range(16):
                received += step()
        rate = received / elapsed
    return rate


def throughput(
    library: Ours | Theirs, channel: str, length: int, seconds: float, *, is_exclusive: bool = True
) -> dict[str, float]:
    """One thread offers and polls message by message."""
    subscription, publication = library.pair(channel, 1, is_exclusive=is_exclusive)
    message = bytes(length)
    received = 0

    def on_message(buffer: object, header: object) -> None:
        nonlocal received
        received += 1

    offer, poll, is_sent = publication.offer, subscription.poll, library.is_sent

    def step() -> int:
        before = received
        for _ in range(64):
            if not is_sent(offer(message)):
                break
        poll(on_message, 64)
        return received - before

    return {"messages/s": _rate(step, seconds)}


def batches(library: Ours, channel: str, length: int, seconds: float) -> dict[str, float]:
    """The same with batches: contiguous bytes and boundaries in, arrays out."""
    import numpy as np

    subscription, publication = library.pair(channel, 1)
    per_batch = max(1, 32768 // max(length, 1))
    data = np.zeros(per_batch * length, np.uint8)
    boundaries = np.arange(0, per_batch * length + 1, length, dtype=np.int64)

    def step() -> int:
        publication.offer_batch(data, boundaries)
        return len(subscription.poll_batch(max_messages=4096))

    return {"messages/s": _rate(step, seconds)}


def lists(library: Ours, channel: str, length: int, seconds: float) -> dict[str, float]:
    """The same with Python objects: a list of bytes in, a list of bytes out."""
    subscription, publication = library.pair(channel, 1)
    messages = [bytes(length) for _ in range(256)]

    def step() -> int:
        publication.offer_many(messages)
        return len(subscription.poll_many())

    return {"messages/s": _rate(step, seconds)}


def round_trip(library: Ours | Theirs, channel: str, length: int, seconds: float) -> dict[str, float]:
    """Round trips of one message at a time, on one thread; percentiles in microseconds."""
    there, ping = library.pair(channel, 1)
    back, pong = library.pair(channel, 2)
    message = bytes(length)
    times: list[int] = []
    arrived = False

    def on_there(buffer: object, header: object) -> None:
        while not library.is_sent(pong.offer(message)):
            pass

    def on_back(buffer: object, header: object) -> None:
        nonlocal arrived
        arrived = True

    def step() -> int:
        nonlocal arrived
        arrived = False
        started = time.perf_counter_ns()
        while not library.is_sent(ping.offer(message)):
            pass
        while not arrived:
            if not there.poll(on_there, 1):
                back.poll(on_back, 1)
        times.append(time.perf_counter_ns() - started)
        return 1

    _rate(step, seconds)
    measured = sorted(times[len(times) // 2 :])
    return {
        "p50 us": measured[len(measured) // 2] / 1000,
        "p99 us": measured[len(measured) * 99 // 100] / 1000,
    }


WORKLOADS: dict[str, Callable[..., dict[str, float]]] = {
    "throughput": throughput,
    "concurrent": functools.partial(throughput, is_exclusive=False),
    "batches": batches,
    "lists": lists,
    "round_trip": round_trip,
}

if __name__ == "__main__":
    name, workload, channel, length, seconds = sys.argv[1:]
    library = Ours() if name == "ours" else Theirs()
    result = WORKLOADS[workload](library, channel, int(length), float(seconds))
    print(json.dumps(result), flush=True)
    library.close()
