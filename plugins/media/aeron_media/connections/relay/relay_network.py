"""Relay network: listeners and connections with a protocol that a relay thread handles (`relay_thread`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import ConnectionNetwork, ListenOptions
from aeron_media._native.relays import RelayListener, RelaySocket
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relay_thread import RelayThread
from aeron_media.connections.sockets import connecting_socket, listening_socket

if TYPE_CHECKING:
    from aeron_core.spi.endpoints import Fault


class RelayNetwork(ConnectionNetwork):
    """Network of TCP sockets with a protocol on top; used by the conductor. Each endpoint has its own.

    The parameters must not refer to the network: such a reference cycle would delay the release of its sockets.
    """

    def __init__(self, listening: RelayParams, dialing: RelayParams) -> None:
        self._listening = listening
        self._dialing = dialing
        self._relays: dict[tuple[int, int], RelayThread] = {}
        # With those of listeners, which end them.
        self._all_relays: WeakSet[RelayThread] = WeakSet()

    def listen(self, options: ListenOptions) -> RelayListener:
        """See `ConnectionNetwork.listen`; a connection is accepted once its handshake is complete."""
        sock = listening_socket(options)
        # The address is read from the socket, because port 0 lets the operating system choose.
        host, port, *rest = sock.getsockname()
        relay = RelayThread(self._listening, listener=sock)
        self._all_relays.add(relay)
        local = SocketAddress.of(host, port, rest[1] if rest else 0)
        return RelayListener(relay.agent_end, local, relay.close)

    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> RelaySocket:
        """See `ConnectionNetwork.new_connection`; it is connected once its handshake is complete."""
        lengths = (sndbuf_length, rcvbuf_length)
        # Buffer lengths are set before connecting, so each pair of lengths has a thread with its own
        # `connect`.
        if lengths not in self._relays:
            self._relays[lengths] = RelayThread(
                self._dialing,
                connect=partial(connecting_socket, sndbuf_length=sndbuf_length, rcvbuf_length=rcvbuf_length),
            )
            self._all_relays.add(self._relays[lengths])
        return RelaySocket(self._relays[lengths].agent_end)

    def end_vanished(self, timeout_ms: int, text: str) -> None:
        """End connections to peers that have vanished, see `end_if_vanished`, and keep faults with this text."""
        for relay in self._all_relays:
            relay.end_vanished(timeout_ms, text)

    def take_fault(self) -> Fault | None:
        """Remove and return a fault, the oldest of accepted connections first; None if there is none."""
        return self._listening.faults.take() or self._dialing.faults.take()

    def close(self) -> None:
        """Stop connecting; the threads end once their connections are closed, after 5 s at the latest.

        The thread of a listener does the same after the listener is closed.
        """
        for relay in self._relays.values():
            relay.close()
        self._relays.clear()
