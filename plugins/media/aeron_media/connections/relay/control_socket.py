"""Control socket between agents and their relay thread.

Agents send requests: to dial, with a descriptor, or to abort a connection, which they identify by the inode of their
end. The thread hands over the agents' ends of connections that it accepted, once their handshake is complete.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from typing import TYPE_CHECKING

from aeron_media._native.relays import hand_over, take_over

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_media.connections.relay.relayed_connection import RelayedConnection


class ControlSocket:
    """The thread's end of the control socket, and the connections that agents can abort; used by the thread."""

    def __init__(self) -> None:
        #: The agents' end of the socket; any thread may use it.
        # SEQPACKET keeps the boundaries of requests; a Unix socket can carry descriptors.
        self.agent_end, self.socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setblocking(False)
        #: Connections whose handshake is complete; they are handed over when the socket has space.
        self.unannounced: deque[RelayedConnection] = deque()
        # Connections by the inode of the agent's end, which identifies them in abort requests.
        self._by_agent: dict[int, RelayedConnection] = {}

    def events(self) -> int:
        """Return the epoll events to wait for: writable only while connections wait to be handed over."""
        return select.EPOLLIN | (select.EPOLLOUT if self.unannounced else 0)

    def take_request(self) -> tuple[int, SocketAddress, int] | None:
        """Return descriptor, peer and inode of the next request; None if there is none.

        To dial: the thread's end of the pair, the address to connect to, and the inode of the agent's end. To abort:
        -1, an address that is not set, and that inode. Raises OSError, with EPIPE when the agents' end is closed.
        """
        return take_over(self.socket.fileno())

    def find(self, inode: int) -> RelayedConnection | None:
        """Return the connection whose agent's end has this inode; None if there is none."""
        return self._by_agent.get(inode)

    def add(self, connection: RelayedConnection) -> None:
        """Add a connection that agents can abort, by the inode of the agent's end."""
        self._by_agent[connection.agent.inode] = connection

    def announce(self, connection: RelayedConnection) -> None:
        """Hand the agent's end of a connection over, now or when the socket has space."""
        self.add(connection)
        if self.unannounced or not self._hand_over(connection):
            self.unannounced.append(connection)

    def announce_waiting(self) -> None:
        """Hand over the connections that wait for space in the socket, until it is full again."""
        while self.unannounced and self._hand_over(self.unannounced[0]):
            self.unannounced.popleft()

    def _hand_over(self, connection: RelayedConnection) -> bool:
        """Hand the agent's end of a connection over and close the thread's descriptor of it.

        Return False, and keep the descriptor, if the socket is full. Closes it as well if handing over fails.
        """
        assert connection.agent.other_end is not None
        try:
            if not hand_over(self.socket.fileno(), connection.agent.other_end.fileno(), connection.peer):
                return False
        except OSError:
            # Usually because the endpoint is closed. Closing the agent's end below ends the connection.
            pass
        connection.agent.other_end.close()
        connection.agent.other_end = None
        return True

    def remove(self, connection: RelayedConnection) -> None:
        """Remove a connection, so that it is neither handed over nor aborted."""
        # The inode may have been reused for another connection.
        if self._by_agent.get(connection.agent.inode) is connection:
            del self._by_agent[connection.agent.inode]
        if connection in self.unannounced:
            self.unannounced.remove(connection)
