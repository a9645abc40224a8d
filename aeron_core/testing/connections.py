"""Simulated connections: bytes sent on one end are received on the other, up to a capacity.

Each call takes effect at once; there are no threads. A test acts as a peer of a driver with `dial`, which connects to
a listener of the driver, or with `serve`, which accepts connections of the driver.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket
from collections import deque
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import (
    ByteConnection,
    ConnectionListener,
    PythonConnection,
    PythonConnectionListener,
)
from aeron_core.spi.media import ConnectionNetwork, ListenOptions
from aeron_core.testing.network import FIRST_EPHEMERAL_PORT

#: Bytes that one end may send before the other receives.
CAPACITY: Final = 65536


class ConnectionPeer:
    """One end of a connection. If `failure` is set, the next `receive`, `send` or `is_connected` raises OSError."""

    def __init__(self, address: SocketAddress) -> None:
        self.address = address
        self.is_closed = False
        self.was_aborted = False
        #: Whether this end has accepted the connection, or has connected to a listener.
        self.was_accepted = False
        #: Errno with which the next operation fails, 0 for none.
        self.failure = 0
        self.capacity = CAPACITY
        self._incoming = bytearray()
        self._has_ended = False
        self._other: ConnectionPeer | None = None

    def receive(self, length: int) -> bytes | None:
        """Return up to `length` received bytes, None if there are none yet, b"" if no more will come."""
        self._check()
        data = bytes(self._incoming[:length])
        del self._incoming[:length]
        if data:
            return data
        return b"" if self._has_ended else None

    def send(self, data: bytes) -> int:
        """Send as many bytes as fit; return their number. Raises OSError if the other end has closed."""
        self._check()
        other = self._peer()
        if other.is_closed:
            raise OSError(errno.ECONNRESET, f"{other.address} has closed the connection: connect again")
        taken = max(0, min(len(data), other.capacity - len(other._incoming)))
        other._incoming += data[:taken]
        return taken

    def is_connected(self) -> bool:
        """Return whether the other end has accepted the connection."""
        self._check()
        return self._peer().was_accepted

    def end(self) -> None:
        """Close the sending side."""
        self._peer()._has_ended = True

    def close(self, aborts: bool = False) -> None:
        """Close the connection; `aborts` discards data that the other end has not received, and resets that end."""
        self.is_closed = True
        self.was_aborted = aborts
        other = self._peer()
        other._has_ended = True
        if aborts:
            other._incoming.clear()
            other.failure = errno.ECONNRESET

    @property
    def is_closed_by_peer(self) -> bool:
        """Whether the other end has closed the connection."""
        return self._peer().is_closed

    def received(self) -> bytes:
        """Return all bytes received since the last read, b"" if there are none."""
        return self.receive(1 << 30) or b""

    def _check(self) -> None:
        if self.failure:
            code, self.failure = self.failure, 0
            raise OSError(
                code,
                f"the simulated connection of {self.address} failed: {os.strerror(code)}: connect again",
            )

    def _peer(self) -> ConnectionPeer:
        if self._other is None:
            raise OSError(
                errno.ENOTCONN,
                f"{self.address} is not connected: take an end from `dial`, or from `accept` of a simulated listener",
            )
        return self._other


def _pair(one: SocketAddress, other: SocketAddress) -> tuple[ConnectionPeer, ConnectionPeer]:
    first, second = ConnectionPeer(one), ConnectionPeer(other)
    first._other, second._other = second, first
    return first, second


class SimulatedListener:
    """Listener with a queue of connections to accept."""

    def __init__(self, network: SimulatedConnections, address: SocketAddress) -> None:
        self._network = network
        self._address = address
        self._waiting: deque[ConnectionPeer] = deque()

    def connect(self, source: SocketAddress) -> ConnectionPeer:
        """Queue a connection from `source`; return the connecting end."""
        here, there = _pair(source, self._address)
        here.was_accepted = True
        self._waiting.append(there)
        return here

    def accept(self) -> tuple[ConnectionPeer, SocketAddress] | None:
        """Accept the next connection; return its accepted end and the source address, None if there is none."""
        if not self._waiting:
            return None
        taken = self._waiting.popleft()
        taken.was_accepted = True
        return taken, taken._peer().address

    def local_address(self) -> SocketAddress:
        """Return the bound address."""
        return self._address.copy()

    def close(self) -> None:
        """Stop listening, and abort queued connections."""
        self._network._forget(self._address)
        for waiting in self._waiting:
            waiting.close(aborts=True)


class SimulatedConnections(ConnectionNetwork):
    """The connections of a simulation, and its listeners by address."""

    def __init__(self) -> None:
        self._listeners: dict[str, SimulatedListener] = {}
        self._ports = itertools.count(FIRST_EPHEMERAL_PORT)

    def listen(self, options: ListenOptions) -> ConnectionListener:
        """See `ConnectionNetwork.listen`."""
        return PythonConnectionListener(self.serve(options.bind))

    def serve(self, address: SocketAddress) -> SimulatedListener:
        """Return a listener from which a test accepts connections; port 0 is replaced by a free one.

        The address of a Unix socket is that of no file. Raises OSError if another listener has the address.
        """
        has_port = address.port or address.family == socket.AF_UNIX
        bound = address if has_port else SocketAddress.of(address.host, next(self._ports))
        if str(bound) in self._listeners:
            raise OSError(
                errno.EADDRINUSE,
                f"cannot listen at {bound}: in use by another simulated listener: close that one, or use port 0",
            )
        listener = self._listeners[str(bound)] = SimulatedListener(self, bound.copy())
        return listener

    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> ByteConnection:
        """See `ConnectionNetwork.new_connection`."""
        return PythonConnection(self.dial)

    def dial(self, address: SocketAddress, host: str = "127.0.0.1") -> ConnectionPeer:
        """Return a connection from `host` to the listener at `address`.

        Without a listener, the first `receive`, `send` or `is_connected` raises OSError with ECONNREFUSED.
        """
        source = SocketAddress.of(host, next(self._ports))
        listener = self._listeners.get(str(address))
        if listener is not None:
            return listener.connect(source)
        refused, _ = _pair(source, address)
        refused.failure = errno.ECONNREFUSED
        return refused

    def _forget(self, address: SocketAddress) -> None:
        self._listeners.pop(str(address), None)
