"""Listeners and connections of relay threads, and functions that wait for their effects."""

from __future__ import annotations

import select
import threading
import time

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import ListenOptions
from aeron_core.testing.connection_probe import ConnectionProbe, accept

LOOPBACK = SocketAddress.of("127.0.0.1", 0)


def wait_for(condition, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not (result := condition()):
        assert time.monotonic() < deadline, "timed out"
        select.select([], [], [], 0.001)
    return result


def relay_threads():
    return [
        thread for thread in threading.enumerate() if thread.name in ("aeron-tls", "aeron-ws", "aeron-wss")
    ]


def receive(probe, length):
    data = bytearray()
    while len(data) < length:
        data += wait_for(probe.receive)
    return bytes(data)


def fault(network):
    return wait_for(network.take_fault)


def failure(attempt):
    """Call until an OSError is raised; return its errno."""

    def number():
        try:
            attempt()
        except OSError as error:
            return error.errno
        return None

    return wait_for(number)


class RelayedEnds:
    """Listeners and connections of networks, closed after the test."""

    def __init__(self):
        self.closers = []

    def listen_on(self, network):
        listener = network.listen(ListenOptions(LOOPBACK))
        self.closers.append(listener.close)
        return listener

    def caller_of(self, network):
        probe = ConnectionProbe(network.new_connection())
        self.closers += [probe.close, network.close]
        return probe

    def taken(self, listener):
        probe, _ = wait_for(lambda: accept(listener))
        self.closers.append(probe.close)
        return probe

    def close(self):
        for close in reversed(self.closers):
            close()
        wait_for(lambda: not relay_threads())
