"""Our driver and client in each of two processes, over UDP; run as a program by `run.py`.

    two_processes.py [sealed-]stream|echo LENGTH SECONDS

`stream` sends batches of messages in one direction, `echo` one message there and back at a time. Both run for half of
SECONDS before they are measured for SECONDS, as the programs of `limits/`. With `sealed-` the channels have a group
secret; datagrams have the same greatest length as without.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from aeron_security.key_files import write_secret

import aeron_core

STREAM_ID, ECHO_STREAM_ID = 1, 2
BATCH_LENGTH = 64 * 1024
TIMEOUT_S = 10.0
SEALED = "sealed-"
# Of a frame of 8 KiB when it is sealed; shorter messages have the default.
LONG_MTU = 8192 + 64
# Windows of the C clients' rows, and the shortest terms for them: a stream is not to wait for status messages, and the
# logs are to stay in the caches.
WINDOWS = "|rcv-wnd=2m|so-rcvbuf=2m|so-sndbuf=2m|term-length=4m"


def channel_of(work: str, length: int) -> str:
    """Return the channel of both directions; that of a stream has long windows."""
    mtu = f"|mtu={LONG_MTU}" if length > LONG_MTU // 2 else ""
    windows = WINDOWS if work.endswith("stream") else ""
    security = "|security=bench" if work.startswith(SEALED) else ""
    return f"aeron:udp?endpoint=127.0.0.1:0{mtu}{windows}{security}"


def receive(aeron: aeron_core.Aeron, channel: str, length: int, seconds: float) -> None:
    """Count messages until stdin is closed, and print the rate of SECONDS after the warm-up."""
    subscription = aeron.add_subscription(channel, STREAM_ID)
    print(json.dumps(subscription.resolved_channel()), flush=True)
    subscription.await_connected(TIMEOUT_S)
    received = 0
    begin_s = time.monotonic()
    warm_s, end_s = begin_s + seconds / 2, begin_s + seconds * 1.5
    is_warm = False
    while (now_s := time.monotonic()) < end_s:
        if not is_warm and now_s >= warm_s:
            is_warm, received, begin_s = True, 0, now_s
        count = len(subscription.poll_batch())
        received += count
        if not count:
            # The agents of the driver need a processor too.
            os.sched_yield()
    rate = received / (now_s - begin_s)
    print(json.dumps({"messages/s": rate, "MB/s": rate * length / 1e6}), flush=True)


def answer(aeron: aeron_core.Aeron, channel: str, back: str) -> None:
    """Return each message until the process is killed."""
    subscription = aeron.add_subscription(channel, STREAM_ID)
    print(json.dumps(subscription.resolved_channel()), flush=True)
    publication = aeron.add_exclusive_publication(back, ECHO_STREAM_ID)

    def on_message(buffer: memoryview, header: object) -> None:
        while publication.offer(buffer) < 0:
            pass

    while True:
        if not subscription.poll(on_message, 1):
            os.sched_yield()


def send(publication: aeron_core.ExclusivePublication, length: int, is_done: Callable[[], bool]) -> None:
    """Offer batches until the other end has measured."""
    count = max(BATCH_LENGTH // length, 1)
    data, offsets = bytes(count * length), np.arange(0, count * length + 1, length, dtype=np.int64)
    while not is_done():
        for _ in range(64):
            if publication.offer_batch(data, offsets) < 0:
                os.sched_yield()


def round_trips(
    publication: aeron_core.ExclusivePublication,
    subscription: aeron_core.Subscription,
    length: int,
    seconds: float,
) -> dict[str, float]:
    """Return percentiles in microseconds."""
    message = bytes(length)
    times: list[int] = []
    has_arrived = False

    def on_message(buffer: memoryview, header: object) -> None:
        nonlocal has_arrived
        has_arrived = True

    begin_s = time.monotonic()
    while (now_s := time.monotonic()) < begin_s + seconds * 1.5:
        has_arrived = False
        sent_ns = time.monotonic_ns()
        while publication.offer(message) < 0:
            pass
        while not has_arrived:
            if not subscription.poll(on_message, 1):
                os.sched_yield()
        if now_s >= begin_s + seconds / 2:
            times.append(time.monotonic_ns() - sent_ns)
    times.sort()
    return {"p50 us": times[len(times) // 2] / 1e3, "p99 us": times[len(times) * 99 // 100] / 1e3}


def main() -> None:
    """Run the end that the arguments name."""
    # Closes the driver, whose files would otherwise remain.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit())
    work, length, seconds, *rest = sys.argv[1:]
    is_stream, channel = work.endswith("stream"), channel_of(work, int(length))
    with contextlib.ExitStack() as stack:
        settings = {}
        if work.startswith(SEALED):
            key = Path(rest[1] if rest else stack.enter_context(tempfile.TemporaryDirectory())) / "key"
            if not rest:
                write_secret(key)
            settings["security_profiles"] = {"bench": {"secret_file": str(key)}}
        driver = stack.enter_context(aeron_core.MediaDriver.launch_embedded(settings))
        aeron = stack.enter_context(aeron_core.connect(driver.aeron_dir))
        if rest:
            if is_stream:
                receive(aeron, channel, int(length), float(seconds))
            else:
                answer(aeron, channel, rest[0])
            return
        back = aeron.add_subscription(channel, ECHO_STREAM_ID)
        folder = str(key.parent) if settings else ""
        command = [sys.executable, __file__, work, length, seconds, str(back.resolved_channel()), folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            publication = aeron.add_exclusive_publication(json.loads(other.stdout.readline()), STREAM_ID)
            publication.await_connected(TIMEOUT_S)
            if is_stream:
                send(publication, int(length), lambda: other.poll() is not None)
                print(other.stdout.readline(), end="", flush=True)
            else:
                back.await_connected(TIMEOUT_S)
                print(json.dumps(round_trips(publication, back, int(length), float(seconds))), flush=True)
                other.terminate()


if __name__ == "__main__":
    main()
