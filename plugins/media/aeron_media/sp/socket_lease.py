"""A share in a socket: publications and subscriptions of one channel have one socket, which goes with the last.

Not here: what the socket does. Used by the conductor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core.spi.endpoints import Fault
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_media.connections.relay.relay_network import RelayNetwork
    from aeron_media.sp.pair_socket import PairSocket
    from aeron_media.sp.parameters import PairParameters


class SharedSocket:
    """A socket, the keys that it was made with, and how many hold it."""

    def __init__(self, keys: PairParameters, socket: PairSocket, network: RelayNetwork | None) -> None:
        self.keys = keys
        self.socket = socket
        self.network = network
        self.holders = 0

    def check(self, keys: PairParameters, uri: ChannelUri) -> None:
        """Raise ChannelUriError where others hold the socket with other settings."""
        keys.check_shared_socket(uri, self.keys)


class SocketLease:
    """One holder's share; see the module."""

    def __init__(self, shared: SharedSocket, on_last: Callable[[], None]) -> None:
        shared.holders += 1
        self._shared = shared
        self._on_last = on_last
        self._is_over = False

    @property
    def socket(self) -> PairSocket:
        """The socket, as long as the lease lasts."""
        return self._shared.socket

    def take_fault(self) -> Fault | None:
        """Return why a connection could not be encrypted, if that was not taken yet."""
        return self._shared.network.take_fault() if self._shared.network else None

    def end(self) -> None:
        """Give the share back; the last one closes the socket."""
        if self._is_over:
            return
        self._is_over = True
        self._shared.holders -= 1
        if self._shared.holders == 0:
            self._shared.socket.close()
            if self._shared.network:
                self._shared.network.close()
            self._on_last()
