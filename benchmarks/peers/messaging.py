"""The same work with our client, pyzmq and pynng, as each is used in Python; run as a program by `run.py`.

    messaging.py ours|pyzmq|pynng stream|echo|aio-stream|aio-echo ipc|net LENGTH SECONDS

`stream` sends messages in one direction, one call each, and `echo` one message there and back at a time, between two
processes; with `aio-` both ends are coroutines of one event loop. `ipc` is shared memory for us and Unix sockets for
the others; `net` is UDP for us and TCP for them. Runs half of SECONDS before it is measured for SECONDS.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMEOUT_S = 20.0
#: Messages that the queues of the others hold on each side.
QUEUE = 1000
#: Calls between looks at the clock.
CALLS = 64


class Ours:
    """aeron-core, with a driver in the first process."""

    def __init__(self, transport: str, folder: str, *, is_first: bool) -> None:
        import aeron_core
        from aeron_core import aio

        self._aio = aio
        #: What the other process needs to find this one.
        self.place = folder
        if is_first:
            self._driver = aeron_core.MediaDriver.launch_embedded()
            self.place = str(self._driver.aeron_dir)
        self._aeron = aeron_core.connect(Path(self.place))
        self._is_net = transport == "net"
        self._arrived: list[bytes] = []

    def _channel(self, name: str) -> str:
        ports = {"there": 24391, "back": 24392}
        return f"aeron:udp?endpoint=127.0.0.1:{ports[name]}" if self._is_net else "aeron:ipc"

    def sender(self, name: str) -> Any:
        return self._aeron.add_exclusive_publication(self._channel(name), {"there": 1, "back": 2}[name])

    def receiver(self, name: str) -> Any:
        return self._aeron.add_subscription(self._channel(name), {"there": 1, "back": 2}[name])

    def await_peer(self, *ends: Any) -> None:
        for end in ends:
            end.await_connected(TIMEOUT_S)

    def send(self, sender: Any, message: bytes) -> None:
        while sender.offer(message) < 0:
            os.sched_yield()

    def receive(self, receiver: Any) -> bytes:
        """Wait for one message."""
        arrived = self._arrived
        while not arrived:
            if not receiver.poll(lambda buffer, header: arrived.append(bytes(buffer)), 10):
                os.sched_yield()
        return arrived.pop(0)

    async def aio_send(self, sender: Any, message: bytes) -> None:
        await self._aio.async_offer(sender, message)

    def aio_receiver(self, receiver: Any) -> Callable[[], Any]:
        messages = self._aio.messages(receiver)

        async def receive() -> bytes:
            return (await anext(messages)).data

        return receive

    def close(self) -> None:
        self._aeron.close()
        self._driver.close()


class Sockets:
    """What both libraries of sockets have in common."""

    def __init__(self, transport: str, folder: str, ports: dict[str, int]) -> None:
        self.place, self._is_net, self._ports = folder, transport == "net", ports

    def _address(self, name: str) -> str:
        return f"tcp://127.0.0.1:{self._ports[name]}" if self._is_net else f"ipc://{self.place}/{name}"

    def await_peer(self, *ends: Any) -> None:
        pass

    def send(self, sender: Any, message: bytes) -> None:
        sender.send(message)

    def receive(self, receiver: Any) -> bytes:
        return receiver.recv()

    def close(self) -> None:
        pass


class Zmq(Sockets):
    """pyzmq: PUSH and PULL."""

    def __init__(self, transport: str, folder: str, *, is_first: bool) -> None:
        import zmq
        import zmq.asyncio

        self._zmq = zmq
        self._context: Any = zmq.Context()
        self._aio_context: Any = zmq.asyncio.Context()
        super().__init__(transport, folder, {"there": 24393, "back": 24394})
        self.is_aio = False

    def _socket(self, kind: int, name: str, *, is_bound: bool) -> Any:
        socket = (self._aio_context if self.is_aio else self._context).socket(kind)
        socket.set_hwm(QUEUE)
        (socket.bind if is_bound else socket.connect)(self._address(name))
        return socket

    def sender(self, name: str) -> Any:
        return self._socket(self._zmq.PUSH, name, is_bound=False)

    def receiver(self, name: str) -> Any:
        return self._socket(self._zmq.PULL, name, is_bound=True)

    async def aio_send(self, sender: Any, message: bytes) -> None:
        await sender.send(message)

    def aio_receiver(self, receiver: Any) -> Callable[[], Any]:
        return receiver.recv


class Nng(Sockets):
    """pynng: Push0 and Pull0."""

    def __init__(self, transport: str, folder: str, *, is_first: bool) -> None:
        import pynng

        self._pynng = pynng
        super().__init__(transport, folder, {"there": 24395, "back": 24396})

    def sender(self, name: str) -> Any:
        return self._pynng.Push0(dial=self._address(name), block_on_dial=False, send_buffer_size=QUEUE)

    def receiver(self, name: str) -> Any:
        return self._pynng.Pull0(listen=self._address(name), recv_buffer_size=QUEUE)

    async def aio_send(self, sender: Any, message: bytes) -> None:
        await sender.asend(message)

    def aio_receiver(self, receiver: Any) -> Callable[[], Any]:
        return receiver.arecv


LIBRARIES = {"ours": Ours, "pyzmq": Zmq, "pynng": Nng}


class Window:
    """The time of a measurement: half of it before, to warm up."""

    def __init__(self, seconds: float) -> None:
        self.warm_s = time.monotonic() + seconds / 2
        self.end_s = self.warm_s + seconds


def rate_of(count: Callable[[], int], seconds: float) -> dict[str, float]:
    """Return the messages per second of `count`, which receives some and returns their number."""
    window = Window(seconds)
    received, begin_s = 0, 0.0
    while (now_s := time.monotonic()) < window.end_s:
        if not begin_s and now_s >= window.warm_s:
            received, begin_s = 0, now_s
        received += count()
    return {"messages/s": received / (time.monotonic() - begin_s)}


def percentiles(times: list[int]) -> dict[str, float]:
    """Return percentiles of round trips in nanoseconds as microseconds."""
    times.sort()
    return {"p50 us": times[len(times) // 2] / 1e3, "p99 us": times[len(times) * 99 // 100] / 1e3}


def first_end(library: Any, work: str, length: int, seconds: float) -> dict[str, float]:
    """Receive a stream, or send and receive one message at a time."""
    message = bytes(length)
    if work == "stream":
        receiver = library.receiver("there")
        library.await_peer(receiver)
        library.receive(receiver)

        def receive_some() -> int:
            for _ in range(CALLS):
                library.receive(receiver)
            return CALLS

        return rate_of(receive_some, seconds)
    receiver, sender = library.receiver("back"), library.sender("there")
    library.await_peer(receiver, sender)
    window, times = Window(seconds), []
    while (now_s := time.monotonic()) < window.end_s:
        sent_ns = time.monotonic_ns()
        library.send(sender, message)
        library.receive(receiver)
        if now_s >= window.warm_s:
            times.append(time.monotonic_ns() - sent_ns)
    return percentiles(times)


def second_end(library: Any, work: str, length: int) -> None:
    """Send a stream, or return each message, until the process is killed."""
    message = bytes(length)
    if work == "stream":
        sender = library.sender("there")
        library.await_peer(sender)
        while True:
            library.send(sender, message)
    receiver, sender = library.receiver("there"), library.sender("back")
    library.await_peer(receiver, sender)
    while True:
        library.send(sender, library.receive(receiver))


async def coroutines(library: Any, work: str, length: int, seconds: float) -> dict[str, float]:
    """Run both ends in this event loop."""
    message = bytes(length)
    there, to_there = library.receiver("there"), library.sender("there")
    back, to_back = library.receiver("back"), library.sender("back")
    library.await_peer(to_there, to_back)
    receive, receive_back = library.aio_receiver(there), library.aio_receiver(back)

    async def send_stream() -> None:
        while True:
            await library.aio_send(to_there, message)

    async def return_each() -> None:
        while True:
            await library.aio_send(to_back, await receive())

    other = asyncio.create_task(send_stream() if work == "aio-stream" else return_each())
    window, times, received, begin_s = Window(seconds), [], 0, 0.0
    while (now_s := time.monotonic()) < window.end_s:
        if not begin_s and now_s >= window.warm_s:
            times, received, begin_s = [], 0, now_s
        if work == "aio-stream":
            for _ in range(CALLS):
                await receive()
            received += CALLS
        else:
            sent_ns = time.monotonic_ns()
            await library.aio_send(to_there, message)
            await receive_back()
            times.append(time.monotonic_ns() - sent_ns)
    elapsed_s = time.monotonic() - begin_s
    other.cancel()
    return {"messages/s": received / elapsed_s} if work == "aio-stream" else percentiles(times)


def main() -> None:
    """Run the end that the arguments name: the second one if they name a folder."""
    name, work, transport, length, seconds, *rest = sys.argv[1:]
    if rest:
        second_end(LIBRARIES[name](transport, rest[0], is_first=False), work, int(length))
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        library = LIBRARIES[name](transport, folder, is_first=True)
        if work.startswith("aio-"):
            library.is_aio = True
            result = asyncio.run(coroutines(library, work, int(length), float(seconds)))
            print(json.dumps(result), flush=True)
        else:
            with subprocess.Popen([sys.executable, __file__, *sys.argv[1:], library.place]) as other:
                print(json.dumps(first_end(library, work, int(length), float(seconds))), flush=True)
                # Calls of pynng do not return at a signal.
                other.kill()
        library.close()
    # Sockets of the others would wait for messages that nothing reads.
    os._exit(0)


if __name__ == "__main__":
    main()
