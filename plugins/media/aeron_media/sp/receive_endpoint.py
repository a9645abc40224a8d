"""Receive endpoint of PAIR: each peer is a session. Not here: the connections (`peer_connections`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.spi.endpoints import Fault, ReceiveChannelEndpoint
from aeron_media.connections.feed_streams import FeedParams
from aeron_media.connections.image_feed import ImageFeed
from aeron_media.sp.pair_counters import CONNECTIONS, RECEIVING, PairCounters
from aeron_media.sp.pair_socket import PairSocket

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.nak import Nak
    from aeron_core.protocol.frames.response_setup import ResponseSetup
    from aeron_core.protocol.frames.rttm import Rttm
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.media import ReceiveEndpointParams
    from aeron_media.sp.parameters import PairParameters
    from aeron_media.sp.socket_lease import SocketLease

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

_PACKET_LENGTH = 1 << 17  # bytes of frames inserted into an image at once; at least the largest mtu


class PairReceiveEndpoint(ReceiveChannelEndpoint):
    """Receive side of a PAIR channel; used by the receiver's thread, except for the methods of `ChannelEndpoint`.

    Raises TypeError if `params` has no dispatcher.
    """

    def __init__(self, params: ReceiveEndpointParams, lease: SocketLease, keys: PairParameters) -> None:
        if params.dispatcher is None:
            raise TypeError(
                "dispatcher=None: must be a ReceiveDispatcher: set `dispatcher` of ReceiveEndpointParams"
            )
        self.receiver_id = params.receiver_id
        self._lease = lease
        self._socket: PairSocket = lease.socket
        self._connections = self._socket.connections
        self._counters = PairCounters(params, [CONNECTIONS, RECEIVING])
        self._tallies = self._socket.tallies
        self._bytes_received = params.counters["bytes_received"]
        self._now_ns = params.clock.nano_time()
        feed_params = FeedParams(
            packet=AtomicBuffer.allocate(_PACKET_LENGTH),
            term_length=keys.term_length,
            mtu=keys.image_mtu,
            window_length=keys.receiver_window or 0,
        )
        feeds = [ImageFeed(self, params.dispatcher, feed_params) for _ in self._socket.peers]
        self._number = self._connections.attach(feeds, self._now_ns)

    def local_addresses(self) -> list[str]:
        """See `ChannelEndpoint.local_addresses`."""
        return self._socket.local_addresses()

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        return self._lease.take_fault() or self._socket.take_fault()

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
        self._connections.detach(self._number)
        self._lease.end()

    def poll(self, now_ns: int) -> int:
        """See `ReceiveChannelEndpoint.poll`."""
        self._now_ns = now_ns
        received: int = self._connections.work(now_ns)
        self._counters.show_if_due(self._tallies, now_ns)
        if received > 0:
            self._bytes_received.get_and_add(received)
        return received

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """Pass a status message to the feed of its peer instead of sending it; return its length in bytes.

        Return 0 if the peer does not exist, or another endpoint's feeds are attached.
        """
        return (
            wire.SM_HEADER_LENGTH
            if self._connections.on_status_message(sm, self._number, self._now_ns)
            else 0
        )

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """Mark the connection of a rejected session to be ended, instead of sending an error.

        Return the length of an error's header in bytes, 0 if the session has no connection.
        """
        return wire.ERR_HEADER_LENGTH if self._connections.reject(error.session_id) else 0

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """Return 0 and send nothing: connections are reliable."""
        return 0

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """Return 0 and send nothing: PAIR has no round-trip measurement."""
        return 0

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """Return 0 and send nothing: PAIR has no response channels."""
        return 0
