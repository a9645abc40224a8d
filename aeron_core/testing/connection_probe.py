"""Probe for connections: calls their C methods as a compiled endpoint does."""

from __future__ import annotations

import os

from aeron_core._native import connections
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.connections import ByteConnection, ConnectionListener


class ConnectionProbe:
    """Probe of a connection; a `receive`, `send`, `connect` or `is_connected` that fails raises OSError.

    `length`: maximum number of bytes of one `receive`.
    """

    def __init__(self, connection: ByteConnection, length: int = 65536) -> None:
        self.connection = connection
        self._buffer = AtomicBuffer.allocate(length)

    def receive(self) -> bytes | None:
        """Return the received bytes, None if there are none yet, b"" once the peer has closed its sending side."""
        received = self.connection.receive(self._buffer, 0, self._buffer.capacity)
        if received == connections.CONNECTION_ENDED:
            return b""
        self._check(received)
        return self._buffer.get_bytes(0, received) if received > 0 else None

    def send(self, data: bytes) -> int:
        """Send as many bytes as fit; return their number."""
        sent = self.connection.send(AtomicBuffer(bytearray(data)), 0, len(data))
        self._check(sent)
        return sent

    def connect(self, address: SocketAddress) -> None:
        """Start to connect to `address`; `is_connected` returns whether the connection is established."""
        self._check(self.connection.connect(address))

    def is_connected(self) -> bool:
        """Return whether the connection is established."""
        result = self.connection.is_connected()
        self._check(result)
        return result == connections.CONNECTION_CONNECTED

    def end(self) -> None:
        """Close the sending side."""
        self.connection.end()

    def close(self, *, aborts: bool = False) -> None:
        """Close the connection; `aborts` discards data that is not delivered yet."""
        self.connection.close(aborts)

    def _check(self, result: int) -> None:
        if result < 0:
            code = self.connection.error_code
            raise OSError(code, f"the connection failed: {os.strerror(code)}: open another connection")


def accept(listener: ConnectionListener) -> tuple[ConnectionProbe, SocketAddress] | None:
    """Return the next connection of a listener and its source address, None if there is none.

    Raises OSError if the listener failed.
    """
    connection = listener.new_connection()
    peer = SocketAddress()
    result = listener.accept(connection, peer)
    if result < 0:
        raise OSError(
            listener.error_code,
            f"the listener failed: {os.strerror(listener.error_code)}: open another listener",
        )
    return (ConnectionProbe(connection), peer) if result else None
