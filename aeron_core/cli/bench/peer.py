"""Second process of a benchmark: receives, counts and returns messages; run by `peer_process`.

Reads a JSON object for each request from stdin and writes one for each answer to stdout. A request that counts or
returns messages is answered after the message, or the datagram, of one byte that ends it. `seconds` is how long the
other end sends messages.
Invariant: it ends when stdin is closed, and a request ends at its deadline.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aeron_core.cli.connecting import connect_as
from aeron_core.client.publications.offerer import Offerer
from aeron_core.spi.udp_offload import SOL_UDP, UDP_GRO, detect_gro

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aeron_core.client.aeron import Aeron
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription

#: Length of the message that ends a measurement; all others are longer.
END_LENGTH: Final = 1
#: Length of the receive buffer of raw sockets, in bytes. Invented: a few milliseconds at full throughput.
RAW_BUFFER_LENGTH: Final = 4 * 1024 * 1024
#: Most bytes that one call receives, of merged datagrams. Source: include/net/gro.h.
_MAX_RECEIVED: Final = 65_536
_OFFER_TIMEOUT_S: Final = 10.0
#: From the last message of the other end to the one that ends a measurement. Invented.
_TIMEOUT_S: Final = 60.0
#: Source: include/uapi/linux/prctl.h.
_PR_SET_PDEATHSIG: Final = 1
#: A value of the shared byte that ends a measurement; all others count round trips.
END_OF_BYTES: Final = 255


class BenchPeer:
    """The other end of each measurement."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._clients: dict[str, Aeron] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._offerers: dict[str, Offerer] = {}
        self._socket: socket.socket | None = None
        self._deadline_s = 0.0

    def answer(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Do what a request asks for, and return the answer."""
        seconds = float(request.get("seconds", 0)) + float(request.get("timeout", _TIMEOUT_S))
        self._deadline_s = time.monotonic() + seconds
        answer: dict[str, object] = getattr(self, request["do"])(request)
        return answer

    def connect(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Connect a client `client` to the driver of a directory, or to a new driver of this process."""
        directory = request.get("aeron_dir")
        if directory is None:
            from aeron_core.cli.bench.launch import launch_into  # noqa: PLC0415 - only for a driver of its own

            directory = launch_into(self._stack).aeron_dir
        self._clients[request["client"]] = self._stack.enter_context(connect_as("bench", Path(directory)))
        return {}

    def subscribe(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Add a subscription, and return its channel with the port that was bound."""
        aeron = self._clients[request["client"]]
        subscription = self._stack.enter_context(
            aeron.add_subscription(request["channel"], request["stream"])
        )
        self._subscriptions[request["name"]] = subscription
        return {"channel": subscription.resolved_channel() or request["channel"]}

    def publish(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Add a publication for the answers of `echo`."""
        aeron = self._clients[request["client"]]
        publication = aeron.add_exclusive_publication(request["channel"], request["stream"])
        self._offerers[request["name"]] = Offerer(publication, _OFFER_TIMEOUT_S)
        return {}

    def count(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Count messages and their bytes until the one that ends the measurement."""
        subscription = self._subscriptions[request["name"]]
        messages = length = 0
        while True:
            batch = subscription.poll_batch()
            if not len(batch):
                self._pause()
                continue
            messages += len(batch)
            length += len(batch.data)
            if batch.offsets[-1] - batch.offsets[-2] == END_LENGTH:
                return {"messages": messages - 1, "bytes": length - END_LENGTH}

    def echo(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Return each message until the one that ends the measurement."""
        subscription, offerer = self._subscriptions[request["name"]], self._offerers[request["name"]]
        is_running = True

        def on_fragment(buffer: memoryview, _header: Header) -> None:
            nonlocal is_running
            if len(buffer) == END_LENGTH:
                is_running = False
            else:
                offerer.offer(buffer)

        while is_running:
            if not subscription.poll(on_fragment):
                self._pause()
        return {}

    def bind(self, _request: Mapping[str, Any]) -> dict[str, object]:
        """Bind a UDP socket on loopback, and return its port."""
        self._socket = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RAW_BUFFER_LENGTH)
        if detect_gro():
            self._socket.setsockopt(SOL_UDP, UDP_GRO, 1)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        return {"port": self._socket.getsockname()[1]}

    def raw_count(self, _request: Mapping[str, Any]) -> dict[str, object]:
        """Count the bytes of datagrams, and return the seconds from the first to the last."""
        sock, buffer = self._raw(), bytearray(_MAX_RECEIVED)
        received = 0
        first_s = last_s = 0.0
        while True:
            try:
                length = sock.recv_into(buffer)
            except BlockingIOError:
                self._pause()
                continue
            if length == END_LENGTH:
                # Repeated, because it may be lost; those of the previous measurement precede the first datagram.
                if received:
                    return {"bytes": received, "seconds": last_s - first_s}
                continue
            last_s = time.perf_counter()
            if not first_s:
                first_s = last_s  # and without the bytes of the first call, which were sent before it
                received = END_LENGTH
            else:
                received += length

    def raw_echo(self, _request: Mapping[str, Any]) -> dict[str, object]:
        """Return each datagram until one of one byte."""
        sock = self._raw()
        has_started = False
        while True:
            try:
                datagram, source = sock.recvfrom(_MAX_RECEIVED)
            except BlockingIOError:
                self._pause()
                continue
            if len(datagram) > END_LENGTH:
                has_started = True
                sock.sendto(datagram, source)
            elif has_started:
                return {}

    def share(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Copy the first byte of a shared page to its second one whenever it changes, until it is 255."""
        with open(request["path"], "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
            last = 0  # which the first byte is before the first round trip, and never again
            while True:
                value = page[0]
                if value == last:
                    self._pause()
                    continue
                page[1] = last = value
                if value == END_OF_BYTES:
                    return {}

    def _raw(self) -> socket.socket:
        assert self._socket is not None, "bind was not requested"
        return self._socket

    def _pause(self) -> None:
        # With fewer processors than spinning threads, let the other end run now.
        os.sched_yield()
        if time.monotonic() > self._deadline_s:
            raise TimeoutError("the message that ends the measurement did not arrive")


def main() -> None:
    """Answer the requests of stdin until it is closed."""
    # An interrupt of the terminal ends the other process, which then closes stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Closes the driver, whose files would otherwise remain.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit())
    # The kernel sends SIGTERM when the other process is killed: the end of stdin is read only after a measurement.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    with ExitStack() as stack:
        peer = BenchPeer(stack)
        try:
            for line in sys.stdin:
                try:
                    answer = peer.answer(json.loads(line))
                except Exception as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                print(json.dumps(answer), flush=True)
        finally:
            # After stdin was closed, the driver is closed already: a second end would interrupt that.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    main()
