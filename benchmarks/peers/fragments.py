"""A peer of a WebSocket endpoint that sends empty fragments, and the echoes that another peer gets meanwhile.

Frames are those of RFC 6455, with the mask 0, which leaves a payload as it is. A message of SP PAIR1 begins with its
hops.
"""

from __future__ import annotations

import select
import socket
import statistics
import threading
import time
from contextlib import closing, suppress

import aeron_core

PORT = 24_393
STREAM_ID = 1001
CHANNEL = f"aeron:sp?endpoint=127.0.0.1:{PORT}|transport=ws|mode=listen|poly=true"
UPGRADE = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: pair1.sp.nanomsg.org\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n"
)
FIRST_FRAGMENT = bytes((0x02, 0x80, 0, 0, 0, 0))
EMPTY_FRAGMENT = bytes((0x00, 0x80, 0, 0, 0, 0))
HOPS = bytes((0, 0, 0, 1))
PAYLOAD = bytes(range(32))
ECHOED = bytes((0x82, 0x80 | len(HOPS + PAYLOAD), 0, 0, 0, 0)) + HOPS + PAYLOAD
ANSWER_LENGTH = 2 + len(HOPS + PAYLOAD)
BYTES_PER_S = 500_000
PAUSE_S = 0.01
TIMEOUT_S = 30
#: Of the answering program between polls: one that is always busy would leave no processor for the driver.
POLL_PAUSE_S = 0.0001
#: Turns without and with the attack, so that other programs affect both alike.
TURNS = 3


def connected() -> socket.socket:
    """Return a connection to the endpoint after its handshake."""
    connection = socket.create_connection(("127.0.0.1", PORT), timeout=TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(UPGRADE.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        received = connection.recv(1)
        if not received:
            raise ConnectionError(f"the endpoint refused the handshake: {answer!r}")
        answer += received
    return connection


class Attack:
    """Sends empty fragments of one message at BYTES_PER_S while it is entered, on a new connection after each close.

    `sent` is their number, `connections` that of the connections.
    """

    def __init__(self) -> None:
        self.sent = self.connections = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Attack:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        begin_s = time.monotonic()
        while not self._is_over.is_set():
            # The driver closes a connection with too many of them.
            with suppress(OSError), closing(connected()) as attacker:
                self.connections += 1
                attacker.sendall(FIRST_FRAGMENT)
                # Readable once the driver has sent a close.
                while not select.select([attacker], [], [], PAUSE_S)[0] and not self._is_over.is_set():
                    due = int((time.monotonic() - begin_s) * BYTES_PER_S) // len(EMPTY_FRAGMENT) - self.sent
                    self.sent += due
                    attacker.sendall(EMPTY_FRAGMENT * due)


class Echo:
    """A peer, and a program that answers each of its messages through the driver."""

    def __init__(self, aeron: aeron_core.Aeron) -> None:
        self._subscription = aeron.add_subscription(CHANNEL, STREAM_ID)
        self._publication = aeron.add_publication(CHANNEL, STREAM_ID)
        self._peer = connected()

    def close(self) -> None:
        """Close the connection and the endpoint."""
        self._peer.close()
        self._publication.close()
        self._subscription.close()

    def per_s(self, seconds: float) -> float:
        """Return the echoes in a second, one after the other."""
        count, begin_s = 0, time.monotonic()
        while time.monotonic() < begin_s + seconds:
            self._peer.sendall(ECHOED)
            self._answer()
            answer = b""
            while len(answer) < ANSWER_LENGTH:
                answer += self._peer.recv(ANSWER_LENGTH - len(answer))
            count += 1
        return count / (time.monotonic() - begin_s)

    def _answer(self) -> None:
        answered = False

        def answer(buffer: memoryview, header: aeron_core.Header) -> None:
            nonlocal answered
            answered = self._publication.offer(bytes(buffer), peer=header.session_id) > 0

        deadline_s = time.monotonic() + TIMEOUT_S
        while not answered:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"no message of the peer arrived within {TIMEOUT_S} s")
            if not self._subscription.poll(answer):
                time.sleep(POLL_PAUSE_S)


def measure_fragments(aeron: aeron_core.Aeron, seconds: float) -> dict[str, float]:
    """Return the echoes in a second without and with an attack, and the median share that is left."""
    calm: list[float] = []
    attacked: list[float] = []
    sent = connections = 0
    with closing(Echo(aeron)) as echo:
        echo.per_s(0.5)
        for _ in range(TURNS):
            calm.append(echo.per_s(seconds))
            with Attack() as attack:
                attacked.append(echo.per_s(seconds))
            sent += attack.sent
            connections += attack.connections
    return {
        "no attack: echoes over WebSocket/s": statistics.median(calm),
        "empty fragments: echoes over WebSocket/s": statistics.median(attacked),
        "empty fragments: share of the echoes": statistics.median(
            with_attack / without for with_attack, without in zip(attacked, calm, strict=True)
        ),
        "empty fragments: sent/s": sent / seconds / TURNS,
        "empty fragments: connections/s": connections / seconds / TURNS,
    }
