"""One end of a pair of SP sockets; run as a program by `sp.py`, once for each end.

    sp_workloads.py LIBRARY ROLE TRANSPORT ADDRESS LENGTH SECONDS

A `sink` counts the messages of a `source`, an `echo` returns the messages of an `ask`. Sink and echo listen at ADDRESS,
a path or a port that may be 0, and print `listening ADDRESS`; source and ask dial, and print `ready` when they begin.
Sink and ask print their figures at the end; source and echo run until they are killed. The first third of SECONDS is
not measured.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Protocol

QUEUED = 128  # queue limit in messages per direction, for libraries that have one
WRITE = 65_536
READ = 262_144
CHECK = 64  # messages between two reads of the clock


class End(Protocol):
    """One end; `address` is None for an end that dials."""

    address: str | None

    def flood(self, message: bytes) -> None:
        """Send a message repeatedly, without end."""

    def count(self) -> Callable[[], int]:
        """Return a function that waits for messages and returns their number."""

    def send(self, message: bytes) -> None: ...

    def receive(self, length: int) -> bytes: ...


class Pynng:
    def __init__(self, transport: str, address: str, *, listens: bool) -> None:
        import pynng

        self._socket = pynng.Pair1(
            send_buffer_size=QUEUED, recv_buffer_size=QUEUED, send_timeout=20_000, recv_timeout=20_000
        )
        self.address = None
        if listens:
            listener = self._socket.listen(_url(transport, address))
            port = listener.local_address.port if transport == "tcp" else 0
            self.address = str(socket.ntohs(port)) if port else address
        else:
            self._socket.dial(_url(transport, address), block=True)
        self.send: Callable[[bytes], None] = self._socket.send

    def flood(self, message: bytes) -> None:
        send = self._socket.send
        while True:
            send(message)

    def count(self) -> Callable[[], int]:
        receive = self._socket.recv

        def some() -> int:
            for _ in range(CHECK):
                receive()
            return CHECK

        return some

    def receive(self, length: int) -> bytes:
        return self._socket.recv()


class Nng:
    def __init__(self, transport: str, address: str, *, listens: bool) -> None:
        import nng

        self._socket = nng.PairSocket()
        self._socket.send_buf = self._socket.recv_buf = QUEUED
        self._socket.send_timeout = self._socket.recv_timeout = 20_000
        self.address = None
        if listens:
            listener = self._socket.add_listener(_url(transport, address))
            listener.start()
            self.address = str(listener.port) if transport == "tcp" else address
        else:
            self._socket.add_dialer(_url(transport, address)).start()
        self.send: Callable[[bytes], None] = self._socket.send

    def flood(self, message: bytes) -> None:
        send = self._socket.send
        while True:
            send(message)

    def count(self) -> Callable[[], int]:
        receive = self._socket.recv

        def some() -> int:
            for _ in range(CHECK):
                receive()
            return CHECK

        return some

    def receive(self, length: int) -> bytes:
        return self._socket.recv().to_bytes()


class Floor:
    """Plain sockets with SP framing that is not parsed: the cost of the system itself."""

    def __init__(self, transport: str, address: str, *, listens: bool) -> None:
        self._mark = b"\x01" if transport == "ipc" else b""
        family = socket.AF_INET if transport == "tcp" else socket.AF_UNIX
        where: object = ("127.0.0.1", int(address)) if transport == "tcp" else address
        self._listener = self._connection = socket.socket(family)
        self.address = None
        if listens:
            self._listener.bind(where)
            self._listener.listen()
            self.address = str(self._listener.getsockname()[1]) if transport == "tcp" else address
        else:
            self._connection.connect(where)
        self._accepts = listens
        self._transport = transport

    def _accepted(self) -> socket.socket:
        if self._accepts:
            self._connection, _ = self._listener.accept()
            self._accepts = False
        if self._transport == "tcp":
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection

    def _frame(self, message: bytes) -> bytes:
        return self._mark + struct.pack(">QI", len(message) + 4, 1) + message

    def flood(self, message: bytes) -> None:
        frame = self._frame(message)
        batch = frame * max(1, WRITE // len(frame))
        send = self._accepted().sendall
        while True:
            send(batch)

    def count(self) -> Callable[[], int]:
        connection, buffer, left = self._accepted(), bytearray(READ), 0
        length = len(self._frame(bytes(LENGTH)))

        def some() -> int:
            nonlocal left
            came, left = divmod(left + connection.recv_into(buffer), length)
            return came

        return some

    def send(self, message: bytes) -> None:
        if self._accepts:
            self._accepted()
        self._connection.sendall(self._frame(message))

    def receive(self, length: int) -> bytes:
        if self._accepts:
            self._accepted()
        left = length + len(self._mark) + 12
        pieces = []
        while left:
            pieces.append(self._connection.recv(left))
            left -= len(pieces[-1])
        return b"".join(pieces)[-length:]


def _url(transport: str, address: str) -> str:
    return f"tcp://127.0.0.1:{address}" if transport == "tcp" else f"ipc://{address}"


LIBRARIES: dict[str, Callable[..., End]] = {"pynng": Pynng, "nng": Nng, "floor": Floor}


def sink(end: End, seconds: float) -> dict[str, float]:
    """Count messages for a time."""
    some = end.count()
    while not some():
        pass
    begin = time.perf_counter()
    total = 0
    start, until = begin + seconds / 3, begin + seconds * 4 / 3
    before = 0
    while (now := time.perf_counter()) < until:
        total += some()
        if now < start:
            before, begin = total, now
    measured = total - before
    return {"messages": total, "rate": measured / (now - begin)}


def ask(end: End, seconds: float) -> dict[str, float]:
    """Send a message and wait for it, one at a time."""
    message = bytes(LENGTH)
    times: list[int] = []
    until = time.perf_counter_ns() + int(seconds / 3 * 1e9)
    for period in (seconds / 3, seconds):
        times.clear()
        until = time.perf_counter_ns() + int(period * 1e9)
        before = 0
        while before < until:
            before = time.perf_counter_ns()
            end.send(message)
            end.receive(LENGTH)
            times.append(time.perf_counter_ns() - before)
    times.sort()
    return {"p50": times[len(times) // 2] / 1000, "p99": times[len(times) * 99 // 100] / 1000}


if __name__ == "__main__":
    name, role, transport, address, length, seconds = sys.argv[1:]
    LENGTH = int(length)
    if name.startswith("ours"):
        from sp_ours import LIBRARIES as OURS

        LIBRARIES |= OURS
    listens = role in ("sink", "echo")
    end = LIBRARIES[name](transport, address, listens=listens)
    print(f"listening {end.address}" if listens else "ready", flush=True)
    if role == "source":
        end.flood(bytes(LENGTH))
    elif role == "echo":
        while True:
            end.send(end.receive(LENGTH))
    else:
        print(json.dumps((sink if role == "sink" else ask)(end, float(seconds))), flush=True)
