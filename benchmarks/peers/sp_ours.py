"""Our ends of a pair of SP sockets: a driver on the caller's own thread, which runs it between its other work.

This is the fastest arrangement for two processes on two cores: threads of a driver would compete with the thread that
offers and polls. After some idle cycles, the thread yields its core.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import aeron_core

STREAM = 1
#: Short, so that a log fits in the caches and warms up quickly.
KEYS = "term-length=1m|max-message=128k|mtu=65504"
BATCH = 262_144  # bytes
SPINS = 50  # idle cycles of the driver before the thread yields its core
CYCLE = 64  # messages offered or polled between two cycles of the driver
DEADLINE_S = 20


class Ours:
    """Offers and polls message by message, with a handler in Python."""

    def __init__(self, transport: str, address: str, *, listens: bool) -> None:
        # The process is killed at the end, so its parent removes the directory.
        directory = Path(tempfile.mkdtemp()) / "aeron"
        settings = {"aeron_dir": directory, "perform_storage_checks": False}
        self._driver = aeron_core.MediaDriver(settings, invoker=True)
        self._work = self._work_or_yield
        self._idle_cycles = 0
        self._aeron = aeron_core.connect(directory, driver_invoker=self._work)
        where = f"endpoint=127.0.0.1:{address}" if transport == "tcp" else f"transport=ipc|path={address}"
        mode = "listen" if listens else "dial"
        channel = f"aeron:sp?{where}|mode={mode}|{KEYS}"
        self._subscription = self._aeron.add_subscription(channel, STREAM)
        self._publication = self._aeron.add_exclusive_publication(channel, STREAM)
        self.address = None
        if listens:
            self._until(self._subscription.resolved_endpoint if transport == "tcp" else lambda: True)
            resolved = str(self._subscription.resolved_endpoint())
            self.address = resolved.rpartition(":")[2] if transport == "tcp" else address
        else:
            self._until(lambda: self._publication.is_connected)
        self._came = b""
        self._assembler = aeron_core.FragmentAssembler(self._on_message)

    def _work_or_yield(self) -> None:
        if self._driver.do_work():
            self._idle_cycles = 0
            return
        self._idle_cycles += 1
        if self._idle_cycles > SPINS:
            # Other processes may have to run before there is work.
            os.sched_yield()

    def _until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self._work()
            assert time.monotonic() < deadline, "no peer connected: start the other end"

    def flood(self, message: bytes) -> None:
        offer, work = self._publication.offer, self._work
        while True:
            for _ in range(CYCLE):
                if offer(message) < 0:
                    break
            work()

    def count(self) -> Callable[[], int]:
        poll, work = self._subscription.poll, self._work
        count = 0

        def on_message(buffer: memoryview, header: aeron_core.Header) -> None:
            nonlocal count
            count += 1

        handler = aeron_core.FragmentAssembler(on_message)

        def some() -> int:
            nonlocal count
            count = 0
            work()
            while poll(handler, CYCLE):
                pass
            return count

        return some

    def send(self, message: bytes) -> None:
        while self._publication.offer(message) < 0:
            self._work()
        self._work()

    def _on_message(self, buffer: memoryview, header: aeron_core.Header) -> None:
        self._came = bytes(buffer)

    def receive(self, length: int) -> bytes:
        self._came = b""
        poll, work, handler = self._subscription.poll, self._work, self._assembler
        while not self._came:
            if not poll(handler, 1):
                work()
        return self._came


class OursInBatches(Ours):
    """Offers and polls batches in numpy arrays."""

    def flood(self, message: bytes) -> None:
        count = max(1, BATCH // len(message))
        data = np.frombuffer(message * count, np.uint8)
        offsets = np.arange(count + 1, dtype=np.int64) * len(message)
        offer, work = self._publication.offer_batch, self._work
        first = 0
        while True:
            sent = offer(data, offsets, first=first)
            first = (first + max(sent, 0)) % count
            work()

    def count(self) -> Callable[[], int]:
        poll, work = self._subscription.poll_batch, self._work

        def some() -> int:
            work()
            return len(poll(1 << 14))

        return some


LIBRARIES: dict[str, Callable[..., Ours]] = {"ours": Ours, "ours, batches": OursInBatches}
