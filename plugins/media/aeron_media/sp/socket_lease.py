"""Socket lease: endpoints of one channel share a socket, which is closed with the last of them.

Used by the conductor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_media.sp.pair_params import VANISHED

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core.spi.endpoints import Fault
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_media.connections.relay.relay_network import RelayNetwork
    from aeron_media.sp.pair_socket import PairSocket
    from aeron_media.sp.parameters import PairParameters

_NS_PER_MS: Final = 1_000_000


class SharedSocket:
    """A socket, the parameters and network it was created with, and its leases.

    `network` is None unless the connections use TLS or WebSocket.
    """

    def __init__(self, keys: PairParameters, socket: PairSocket, network: RelayNetwork | None) -> None:
        self.keys = keys
        self.socket = socket
        self.network = network
        self.leases: list[SocketLease] = []

    def check(self, keys: PairParameters, uri: ChannelUri) -> None:
        """Raise ChannelUriError if the socket was created with other parameters; see `check_shared_socket`."""
        keys.check_shared_socket(uri, self.keys)


class SocketLease:
    """The lease of one endpoint; see the module."""

    def __init__(self, shared: SharedSocket, on_last: Callable[[], None]) -> None:
        shared.leases.append(self)
        self._shared = shared
        self._on_last = on_last
        self._is_over = False

    @property
    def socket(self) -> PairSocket:
        """The shared socket; use it only before `end`."""
        return self._shared.socket

    def take_fault(self) -> Fault | None:
        """Remove and return a fault of TLS or WebSocket; None if there is none, or neither is used."""
        return self._shared.network.take_fault() if self._shared.network else None

    def end_vanished(self) -> None:
        """End TCP connections to peers that have vanished; no effect after `end`.

        The endpoints of a socket call this at the same interval; only one of the leases does it.
        """
        if self._is_over or self._shared.leases[0] is not self:
            return
        # Rounded up: a connection must not end before its timeout.
        timeout_ms = -(-self._shared.keys.peer_timeout // _NS_PER_MS)
        if self._shared.network:
            self._shared.network.end_vanished(timeout_ms, VANISHED)
        else:
            self.socket.connections.end_vanished(timeout_ms)

    def end(self) -> None:
        """End the lease; the last one closes the socket. No effect if called again."""
        if self._is_over:
            return
        self._is_over = True
        self._shared.leases.remove(self)
        if not self._shared.leases:
            self._shared.socket.close()
            if self._shared.network:
                self._shared.network.close()
            self._on_last()
