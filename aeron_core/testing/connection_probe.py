"""Does with connections what a compiled endpoint does with them."""

from __future__ import annotations

from aeron_core._native import connections
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.connections import ByteConnection, ConnectionListener


class ConnectionProbe:
    """Calls a stream; what fails raises OSError with the stream's error code."""

    def __init__(self, connection: ByteConnection, length: int = 65536) -> None:
        self.connection = connection
        self._buffer = AtomicBuffer.allocate(length)

    def receive(self) -> bytes | None:
        """Return what has come: None for nothing yet, b"" for the end."""
        received = self.connection.receive(self._buffer, 0, self._buffer.capacity)
        if received == connections.CONNECTION_ENDED:
            return b""
        self._check(received)
        return self._buffer.get_bytes(0, received) if received > 0 else None

    def send(self, data: bytes) -> int:
        """Send what there is room for; return how much that was."""
        sent = self.connection.send(AtomicBuffer(bytearray(data)), 0, len(data))
        self._check(sent)
        return sent

    def connect(self, address: SocketAddress) -> None:
        """Begin to connect."""
        self._check(self.connection.connect(address))

    def is_connected(self) -> bool:
        """Return whether the connection stands."""
        result = self.connection.is_connected()
        self._check(result)
        return result == connections.CONNECTION_CONNECTED

    def end(self) -> None:
        """Send nothing more."""
        self.connection.end()

    def close(self, *, aborts: bool = False) -> None:
        """Give the connection up."""
        self.connection.close(aborts)

    def _check(self, result: int) -> None:
        if result < 0:
            raise OSError(self.connection.error_code, "the stream failed")


def accept(listener: ConnectionListener) -> tuple[ConnectionProbe, SocketAddress] | None:
    """Return the next connection of a listener and who made it; None where nobody waits."""
    connection = listener.new_connection()
    peer = SocketAddress()
    result = listener.accept(connection, peer)
    if result < 0:
        raise OSError(listener.error_code, "the listener failed")
    return (ConnectionProbe(connection), peer) if result else None
