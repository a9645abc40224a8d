"""Send endpoint of PAIR. Not here: the routing of messages (`message_router`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core.spi.endpoints import Fault, SendChannelEndpoint, SendStream
from aeron_media.sp.pair_counters import CONNECTIONS, SENDING, PairCounters
from aeron_media.sp.pair_publication import PairPublication
from aeron_media.sp.pair_socket import PairSocket

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.spi.media import EndpointParams
    from aeron_media.sp.socket_lease import SocketLease

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class PairSendEndpoint(SendChannelEndpoint):
    """Send side of a PAIR channel; used by the sender's thread, except for the methods of `ChannelEndpoint`."""

    def __init__(self, lease: SocketLease, params: EndpointParams) -> None:
        self._lease = lease
        self._socket: PairSocket = lease.socket
        self._router = self._socket.router
        self._connections = self._socket.connections
        self._counters = PairCounters(params, [CONNECTIONS, SENDING])
        self._tallies = self._socket.tallies
        slots = len(self._socket.peers)
        if self._socket.params.is_polyamorous:
            counters = [params.new_peer_counter(f"sp-space {slot}") for slot in range(slots)]
        else:
            counters = [params.new_peer_counter("sp-space 0")] * slots
        self._number = self._router.attach(counters)

    def local_addresses(self) -> list[str]:
        """See `ChannelEndpoint.local_addresses`."""
        return self._socket.local_addresses()

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        return self._lease.take_fault() or self._socket.take_loss() or self._socket.take_fault()

    def update_counters(self) -> None:
        """See `ChannelEndpoint.update_counters`; peers that have vanished are looked for at the same interval."""
        self._lease.end_vanished()

    def take_lost_names(self) -> list[str]:
        """See `ChannelEndpoint.take_lost_names`."""
        return self._connections.take_lost_names()

    def change_address(self, name: str, address: SocketAddress) -> bool:
        """See `ChannelEndpoint.change_address`."""
        return self._connections.change_address(address)

    def close(self) -> None:
        """See `ChannelEndpoint.close`."""
        self._router.detach(self._number)
        self._lease.end()

    def new_stream_state(self) -> PairPublication:
        """See `SendChannelEndpoint.new_stream_state`."""
        return PairPublication()

    def advance(self, stream: SendStream, position: int, now_ns: int) -> int:
        """See `SendChannelEndpoint.advance`."""
        state = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: int = self._router.advance(cython.cast(PairPublication, state), stream.log, position, now_ns)
        self._counters.show_if_due(self._tallies, now_ns)
        return answer

    def has_peer(self, stream: SendStream) -> bool:
        """See `SendChannelEndpoint.has_peer`."""
        return self._router.has_peer()

    def poll(self, now_ns: int) -> int:
        """Do the work on the connections while there are no subscriptions, and update the counters; return 0."""
        self._connections.work_without_receiver(now_ns)
        self._counters.show_if_due(self._tallies, now_ns)
        return 0

    def remove_stream(self, stream: SendStream) -> int:
        """See `SendChannelEndpoint.remove_stream`."""
        state = cython.cast(cython.pointer(PyObject), stream.medium_state)
        return self._router.forget(cython.cast(PairPublication, state))
