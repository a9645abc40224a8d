"""The conductor's record of a send endpoint: its publications and its destinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.driver import events
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.endpoints.endpoint_entry import EndpointEntry
from aeron_core.spi.endpoints import SendChannelEndpoint
from aeron_core.spi.media import LossRates, SendEndpointParams
from aeron_core.spi.protection import ProtectedRole
from aeron_core.uri.endpoint_parameters import EndpointParameters

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.spi.media import Channel, MediaTransport


@dataclass
class SendDestination:
    """A destination that a client added: `name` is the `endpoint` of its URI, `address` None until that is resolved."""

    name: str
    address: SocketAddress | None


class SendEndpointEntry(EndpointEntry):
    """A send endpoint; `user_count` is the number of its publications that the sender has not released.

    Used by the conductor only.
    """

    native: SendChannelEndpoint

    def __init__(
        self,
        context: DriverContext,
        transport: MediaTransport,
        channel: Channel,
        key: str,
        registration_id: int,
    ) -> None:
        super().__init__(context, transport, channel, key, registration_id)
        self.user_count = 0
        #: Whether each stream is sent to the receiver that has requested it.
        self.is_response = EndpointParameters.parse(channel.uri).is_response
        #: Current destination of data; None if the channel has none.
        self.remote = channel.remote
        #: Time since which no receiver has responded; None after the first response.
        self.silent_since_ns: int | None = context.clock.nano_time()
        #: Destinations that clients added, by registration id; the sender has them too.
        self.destinations: dict[int, SendDestination] = {}
        self._destination_count: AtomicCounter | None = None
        #: The sender of all streams of the endpoint.
        self.sender = context.senders.take(channel.canonical_form)
        try:
            self.status = self.allocate_status(counter_types.SEND_CHANNEL_STATUS, "snd-channel")
            self._open()
        except BaseException:
            context.senders.give_back(channel.canonical_form)
            raise
        # From here on the sender polls the sockets: they stay open until it confirms the removal.
        self.sender.proxy.send(operations.ADD_SEND_ENDPOINT, self.native)
        context.events.record(events.SEND_CHANNEL_CREATION, uri=channel.uri)

    def _open(self) -> None:
        channel = self.channel
        try:
            if channel.is_multi_destination:
                self._destination_count = self.allocate_status(counter_types.MDC_DESTINATIONS, "mdc-num-dest")
            self.open_protector(ProtectedRole.PUBLICATION)
            # Opened on the conductor's thread: an error becomes the response to the command.
            opened = self.transport.open_send_endpoint(self._params())
            self.native = self.context.registry.check_endpoint(channel.uri.media, opened, SendChannelEndpoint)
        except BaseException:
            self.free_counters(self.status)
            raise
        self.publish_addresses(self.status, "snd-local-sockaddr")

    @property
    def current_remote(self) -> SocketAddress | None:
        """See `EndpointEntry.current_remote`."""
        return self.remote

    def _params(self) -> SendEndpointParams:
        settings = self.context.settings
        uri = self.channel.uri
        return SendEndpointParams(
            channel=self.channel,
            channel_status_id=self.status.id,
            open_datagrams=self.context.open_datagrams,
            connections=self.context.connections,
            new_counter=self.new_counter,
            new_peer_counter=self.new_peer_counter,
            new_refusal_counter=self.new_refusal_counter,
            free_counter=self.free_counter,
            watch_datagrams=self.context.events.watch(),
            protect=None if self.protector is None else self.protector.protect,
            counters=self.context.system_counters.by_name(),
            sndbuf_length=uri.get_size("so-sndbuf", settings.socket_so_sndbuf_length),
            rcvbuf_length=uri.get_size("so-rcvbuf", settings.socket_so_rcvbuf_length),
            uses_gso=self.context.uses_gso,
            uses_gro=self.context.uses_gro,
            multicast_ttl=settings.socket_multicast_ttl,
            data_loss=LossRates(settings.debug_send_data_loss_rate, settings.debug_send_data_loss_seed or 0),
            control_loss=LossRates(
                settings.debug_receive_control_loss_rate, settings.debug_receive_control_loss_seed or 0
            ),
            incoming_losses=settings.incoming_losses,
            connects=settings.driver_connect,
            batch=self.sender.feedback_batch,
            destination_count=self._destination_count,
            wildcard_ports=settings.sender_wildcard_port_range,
            clock=self.context.clock,
        )

    def change_remote(self, address: SocketAddress) -> bool:
        """Change the remote address; return whether it was changed.

        Returns False if it is the current address, or the endpoint does not accept it. Raises OSError if the address is
        unreachable or of another family, StorageError if no counter is free for a new local address.
        """
        # The address is recorded only if the endpoint has accepted it; otherwise the next lookup tries
        # again.
        if address == self.remote or not self.native.change_remote(address):
            return False
        # This is only the conductor's record: the endpoint passes the address to the sender itself.
        self.remote = address
        # A socket that was connected again may have another local address.
        self.update_addresses(self.status, "snd-local-sockaddr")
        return True

    def change_destination(self, registration_id: int, address: SocketAddress) -> bool:
        """Change the address of a destination; return whether it was changed.

        Returns False if the destination is unknown, has this address already, or the endpoint does not accept
        the address. Raises OSError if the address is of another family.
        """
        destination = self.destinations.get(registration_id)
        if (
            destination is None
            or address == destination.address
            or not self.native.change_destination(registration_id, address)
        ):
            return False
        # The sender takes the change from its own queue; this record serves later commands and lookups.
        destination.address = address
        return True

    def free_counters(self, status: AtomicCounter) -> None:
        """Free all counters, including that of the number of destinations; no agent may use the endpoint."""
        super().free_counters(status)
        if self._destination_count is not None:
            self.context.counters.free(self._destination_count.id)

    def close(self) -> None:
        """Remove the endpoint from the sender, then close it."""
        self.context.events.record(events.SEND_CHANNEL_CLOSE, uri=self.channel.uri)
        # No publication uses the endpoint any more, but the sender may be polling its sockets.
        self.status.set_release(counter_types.CHANNEL_STATUS_CLOSING)
        self.sender.proxy.remove(operations.REMOVE_SEND_ENDPOINT, self.native, then=self._closed)

    def _closed(self) -> None:
        self.context.senders.give_back(self.channel.canonical_form)
        self.transport.close_endpoint(self.native)
        # The last duty cycles of the sender may have left a fault that the timer has not logged.
        self.record_fault()
        self.free_counters(self.status)
