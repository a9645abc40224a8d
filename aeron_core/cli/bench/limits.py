"""Limits of this machine, measured without Aeron: memory copies, shared memory, and UDP with and without offload."""

from __future__ import annotations

import mmap
import os
import socket
import struct
import tempfile
import time
from contextlib import ExitStack
from typing import Final

from aeron_core.cli.bench.peer import END_LENGTH, END_OF_BYTES
from aeron_core.cli.bench.peer_process import PeerProcess
from aeron_core.cli.messages.latency import Latencies
from aeron_core.errors import ClientError
from aeron_core.spi.udp_offload import SOL_UDP, UDP_SEGMENT, detect_gro, detect_gso

#: Larger than the caches of a processor, in pieces that are not. Invented.
_COPIED_LENGTH: Final = 64 * 1024 * 1024
_PIECE_LENGTH: Final = 1024 * 1024
#: Datagrams of an mtu of the driver, and the most that one call may send. Source: MAX_GSO_LENGTH of the driver.
_DATAGRAM_LENGTH: Final = 1408
_SEGMENTS: Final = 46
_MESSAGE: Final = bytes(32)
_TIMEOUT_S: Final = 10.0


def offload_name() -> str:
    """Return the offload that `send_datagrams` uses, for its name."""
    used = [name for name, is_used in (("GSO", detect_gso()), ("GRO", detect_gro())) if is_used]
    return " and ".join(used) or "no offload"


class RawLimits:
    """The programs that measure limits, with their memory and their socket; the other end is `peer`."""

    def __init__(self, peer: PeerProcess, stack: ExitStack) -> None:
        self._peer = peer
        self._memory = bytearray(_COPIED_LENGTH)
        self._copy = bytearray(_COPIED_LENGTH)
        file = tempfile.NamedTemporaryFile(prefix="aeron-bench-", dir=_shared_folder())  # noqa: SIM115 - entered here
        stack.enter_context(file)
        file.truncate(mmap.PAGESIZE)
        self._path = file.name
        self._page = stack.enter_context(mmap.mmap(file.fileno(), mmap.PAGESIZE))
        self._socket = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._socket.connect(("127.0.0.1", peer.ask("bind")["port"]))
        self._socket.setblocking(False)

    def copy_memory(self, seconds: float) -> float:
        """Return the bytes per second of copies within memory, of one thread."""
        source, target = memoryview(self._memory), memoryview(self._copy)
        start_s = time.perf_counter()
        copied = 0
        while True:
            begin = copied % _COPIED_LENGTH
            target[begin : begin + _PIECE_LENGTH] = source[begin : begin + _PIECE_LENGTH]
            copied += _PIECE_LENGTH
            elapsed_s = time.perf_counter() - start_s
            if elapsed_s >= seconds:
                return copied / elapsed_s

    def share_bytes(self, seconds: float) -> Latencies:
        """Return the round trips of a byte in shared memory between two processes that spin."""
        latencies = Latencies()
        page = self._page
        page[0] = page[1] = 0
        self._peer.send("share", path=self._path, seconds=seconds)
        value = 0
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s or not latencies.count:
            value = value % (END_OF_BYTES - 1) + 1
            sent_ns = time.monotonic_ns()
            page[0] = value
            while page[1] != value:
                os.sched_yield()
                if time.monotonic_ns() - sent_ns > _TIMEOUT_S * 1e9:
                    raise ClientError("the second process of the benchmark does not run: run it again")
            latencies.add(time.monotonic_ns() - sent_ns)
        page[0] = END_OF_BYTES
        self._peer.answer()
        return latencies

    def send_datagrams(self, seconds: float) -> float:
        """Return the received bytes per second of UDP over loopback, with GSO and GRO if the kernel has them."""
        self._peer.send("raw_count", seconds=seconds)
        has_gso = detect_gso()
        data = bytes(_DATAGRAM_LENGTH * (_SEGMENTS if has_gso else 1))
        ancillary = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", _DATAGRAM_LENGTH))] if has_gso else []
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s:
            try:
                self._socket.sendmsg([data], ancillary)
            except BlockingIOError:
                os.sched_yield()
        counted = self._peer.answer(self._send_end)
        return float(counted["bytes"]) / (float(counted["seconds"]) or seconds)

    def echo_datagrams(self, seconds: float) -> Latencies:
        """Return the round trips of a datagram over loopback between two processes that spin."""
        latencies = Latencies()
        self._peer.send("raw_echo", seconds=seconds)
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s or not latencies.count:
            sent_ns = time.monotonic_ns()
            self._socket.send(_MESSAGE)
            while not self._has_received():
                os.sched_yield()
                if time.monotonic_ns() - sent_ns > _TIMEOUT_S * 1e9:
                    raise ClientError("a datagram over loopback did not return: allow UDP on 127.0.0.1")
            latencies.add(time.monotonic_ns() - sent_ns)
        self._peer.answer(self._send_end)
        return latencies

    def _has_received(self) -> bool:
        try:
            return bool(self._socket.recv(len(_MESSAGE)))
        except BlockingIOError:
            return False

    def _send_end(self) -> None:
        # Repeated: the socket of the receiver may be full.
        try:
            self._socket.send(bytes(END_LENGTH))
        except BlockingIOError:
            return


def _shared_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
