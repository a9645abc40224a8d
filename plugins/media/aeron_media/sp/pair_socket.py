"""PAIR socket: its peers, the connections to them, and the routing of messages.

Publications and subscriptions of one channel share a socket. It has two parts, each with a lock: on `peer_connections`
the receiver works if there are subscriptions, otherwise the sender; with `message_router` the sender sends messages.
The set of admitted peers is changed under both locks.

Not here: the work on one connection (`peer`, `input`, `output`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from aeron_media.sp._native import reasons
from aeron_media.sp.message_router import MessageRouter
from aeron_media.sp.peer import Peer
from aeron_media.sp.peer_connections import PeerConnections
from aeron_media.sp.peer_slots import PeerSlots

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.connections import ByteConnection, ConnectionListener
    from aeron_core.spi.endpoints import Fault
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.sp.pair_params import PairParams


class PairSocket:
    """One PAIR socket; see the module. With a listener it accepts peers, without one it connects to `host`."""

    def __init__(
        self,
        params: PairParams,
        slot_count: int,
        new_connection: Callable[[], ByteConnection],
        listener: ConnectionListener | None,
        host: RemoteHost,
    ) -> None:
        self.params = params
        self.tallies = params.tallies
        self._faults = params.faults
        self._losses = params.losses
        slots = PeerSlots(params, slot_count, new_connection)
        self.peers = slots.peers
        self.router = MessageRouter(params, slots)
        self.connections = PeerConnections(params, slots, self.router, new_connection(), listener, host)

    def local_addresses(self) -> list[str]:
        """Return the address at which the socket listens; an empty list if it connects."""
        return self.connections.local_addresses()

    def take_fault(self) -> Fault | None:
        """Remove and return the kept fault of a connection; None if there is none."""
        return self._faults.take()

    def take_loss(self) -> Fault | None:
        """Remove and return the kept fault of a message that was not sent; None if there is none."""
        return self._losses.take()

    def close(self) -> None:
        """Close the listener and all connections. Call only when no agent uses the socket any more.

        Tries once to send queued bytes; `take_loss` returns a fault if some are lost.
        """
        self.connections.close_listener()
        for peer in self.peers:
            if cython.cast(Peer, peer).is_among_peers:
                self._finish(cython.cast(Peer, peer))
            cython.cast(Peer, peer).close()
        self.connections.close()

    def _finish(self, peer: Peer) -> int:
        peer.output.flush()
        unsent = peer.output.end()
        if unsent > 0:
            self._losses.keep(reasons.CLOSED_WITH, unsent, 0, 0, peer.address)
        return 0
