"""The same work for both libraries; run as a program by `pyaeron_side_by_side.py` under either Python.

workloads.py LIBRARY WORKLOAD CHANNEL LENGTH COUNT
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable


class Ours:
    """aeron-core: embedded driver, client in the same process."""

    def __init__(self) -> None:
        import aeron_core

        self.driver = aeron_core.MediaDriver.launch_embedded()
        self.aeron = aeron_core.connect(self.driver.aeron_dir)

    def pair(self, channel: str, stream_id: int):
        subscription = self.aeron.add_subscription(channel, stream_id)
        publication = self.aeron.add_exclusive_publication(channel, stream_id)
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

    def pair(self, channel: str, stream_id: int):
        subscription = self.aeron.add_subscription(channel, stream_id)
        publication = self.aeron.add_exclusive_publication(channel, stream_id)
        publication.await_connected(10)
        return subscription, publication

    @staticmethod
    def is_sent(result: object) -> bool:
        return result is True

    def close(self) -> None:
        self.aeron.close()
        self.driver.close()


def throughput(library: Ours | Theirs, channel: str, length: int, count: int) -> dict[str, float]:
    """One thread offers what fits and polls what came, message by message."""
    subscription, publication = library.pair(channel, 1)
    message = bytes(length)
    received = 0

    def on_message(buffer: object, header: object) -> None:
        nonlocal received
        received += 1

    sent = 0
    offer, poll, is_sent = publication.offer, subscription.poll, library.is_sent
    started = time.perf_counter()
    while received < count:
        for _ in range(64):
            if sent == count or not is_sent(offer(message)):
                break
            sent += 1
        poll(on_message, 64)
    elapsed = time.perf_counter() - started
    return {"messages/s": count / elapsed, "MB/s": count * length / elapsed / 1e6}


def batches(library: Ours, channel: str, length: int, count: int) -> dict[str, float]:
    """The same with batches: contiguous bytes and boundaries in, arrays out."""
    import numpy as np

    subscription, publication = library.pair(channel, 1)
    per_batch = max(1, 32768 // max(length, 1))
    data = np.zeros(per_batch * length, np.uint8)
    boundaries = np.arange(0, per_batch * length + 1, length, dtype=np.int64)
    received = sent = 0
    started = time.perf_counter()
    while received < count:
        if sent < count:
            sent += max(publication.offer_batch(data, boundaries), 0)
        received += len(subscription.poll_batch(max_messages=4096))
    elapsed = time.perf_counter() - started
    return {"messages/s": received / elapsed, "MB/s": received * length / elapsed / 1e6}


def round_trip(library: Ours | Theirs, channel: str, length: int, count: int) -> dict[str, float]:
    """One message at a time there and back, in one thread; percentiles in microseconds."""
    there, ping = library.pair(channel, 1)
    back, pong = library.pair(channel.replace(":2", ":3", 1) if "udp" in channel else channel, 2)
    message = bytes(length)
    times: list[int] = []
    arrived = False

    def on_there(buffer: object, header: object) -> None:
        while not library.is_sent(pong.offer(message)):
            pass

    def on_back(buffer: object, header: object) -> None:
        nonlocal arrived
        arrived = True

    for _ in range(count):
        arrived = False
        started = time.perf_counter_ns()
        while not library.is_sent(ping.offer(message)):
            pass
        while not arrived:
            if not there.poll(on_there, 1):
                back.poll(on_back, 1)
        times.append(time.perf_counter_ns() - started)
    times.sort()
    return {"p50 us": times[count // 2] / 1000, "p99 us": times[count * 99 // 100] / 1000}


WORKLOADS: dict[str, Callable[..., dict[str, float]]] = {
    "throughput": throughput,
    "batches": batches,
    "round_trip": round_trip,
}

if __name__ == "__main__":
    name, workload, channel, length, count = sys.argv[1:]
    library = Ours() if name == "ours" else Theirs()
    result = WORKLOADS[workload](library, channel, int(length), int(count))
    print(json.dumps(result), flush=True)
    library.close()
