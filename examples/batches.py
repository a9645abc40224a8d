"""Tens of millions of messages a second: numpy batches through shared memory.

    python examples/batches.py

A sensor publishes readings of 24 bytes, each one message, and a consumer computes their mean. `offer_batch` and
`poll_batch` move many messages in one call without the GIL, so both threads run at the same time, and numpy computes
on the batches as they are.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

import aeron_core

STREAM_ID = 1001
READING = np.dtype([("number", "<i8"), ("time_ns", "<i8"), ("value", "<f8")])
BATCH = 2048


class Publisher(threading.Thread):
    """Publishes readings as fast as the consumer accepts them."""

    def __init__(self, aeron: aeron_core.Aeron) -> None:
        super().__init__(name="publisher")
        self.publication = aeron.add_exclusive_publication("aeron:ipc?term-length=4m", STREAM_ID)
        self.is_over = threading.Event()
        self.count = 0

    def run(self) -> None:
        readings = np.zeros(BATCH, READING)
        readings["value"] = 20 + np.sin(np.arange(BATCH) * (2 * np.pi / BATCH))
        # Message i is data[offsets[i]:offsets[i + 1]].
        offsets = np.arange(BATCH + 1, dtype=np.int64) * READING.itemsize
        while not self.is_over.is_set():
            readings["number"] = np.arange(self.count, self.count + BATCH)
            readings["time_ns"] = time.time_ns()
            data = readings.view(np.uint8)
            first = 0
            while first < BATCH and not self.is_over.is_set():
                appended = self.publication.offer_batch(data, offsets, first=first)
                if appended > 0:
                    first += appended
                else:
                    # The consumer is behind: offer the rest again. A thread that spins would keep the GIL.
                    time.sleep(0)
            self.count += first


def consume(subscription: aeron_core.Subscription, seconds: float) -> int:
    """Print the throughput of each half second; return the number of messages, which all were in order."""
    print(f"{'time':>7}{'messages/s':>15}{'MB/s':>10}{'messages/call':>16}{'mean':>10}{'latency':>12}")
    total = 0
    start_s = time.perf_counter()
    while (begin_s := time.perf_counter()) < start_s + seconds:
        count = calls = 0
        values = latency_ns = 0.0
        while (now_s := time.perf_counter()) < begin_s + 0.5:
            batch = subscription.poll_batch()
            if not len(batch):
                time.sleep(0)
                continue
            readings = batch.data.view(READING)
            numbers = readings["number"]
            if numbers[0] != total + count or numbers[-1] != numbers[0] + len(numbers) - 1:
                raise RuntimeError(f"messages {numbers[0]:,} to {numbers[-1]:,} follow {total + count - 1:,}")
            values += float(readings["value"].sum())
            latency_ns += time.time_ns() - int(readings["time_ns"][-1])
            count += len(batch)
            calls += 1
        total += count
        rate = count / (now_s - begin_s)
        print(
            f"{now_s - start_s:5.1f} s{rate:15,.0f}{rate * READING.itemsize / 1e6:10,.0f}"
            f"{count / max(calls, 1):16,.0f}{values / max(count, 1):10.4f}{latency_ns / max(calls, 1) / 1000:9,.0f} µs"
        )
    return total


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Tens of millions of messages a second with numpy.")
    parser.add_argument("--seconds", type=float, default=3, help="time to run (default: 3)")
    seconds: float = parser.parse_args(arguments).seconds

    with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:ipc", STREAM_ID)
        publisher = Publisher(aeron)
        publisher.start()
        try:
            start_s = time.perf_counter()
            total = consume(subscription, seconds)
            rate = total / (time.perf_counter() - start_s)
            print(f"\n{total:,} messages, none lost, all in order: {rate:,.0f} a second")
        finally:
            publisher.is_over.set()
            publisher.join()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
