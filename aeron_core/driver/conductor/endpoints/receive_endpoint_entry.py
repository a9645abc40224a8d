"""The conductor's record of a receive endpoint: the streams that subscriptions request from it."""

from __future__ import annotations

from collections import Counter as Multiset
from functools import partial
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.concurrent import counter_types
from aeron_core.driver import events
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.endpoints.control_address import ControlAddress
from aeron_core.driver.conductor.endpoints.endpoint_entry import EndpointEntry
from aeron_core.driver.conductor.endpoints.protection import check_destination_security
from aeron_core.driver.conductor.endpoints.receive_destination import ReceiveDestination
from aeron_core.driver.receiver.awaited_images import AwaitedImages, NetworkCounts
from aeron_core.driver.receiver.dispatcher import Dispatcher
from aeron_core.driver.receiver.stream_interest import StreamInterest
from aeron_core.spi.endpoints import ReceiveChannelEndpoint
from aeron_core.spi.media import LossRates, ReceiveEndpointParams
from aeron_core.spi.protection import ProtectedRole
from aeron_core.uri.endpoint_parameters import ControlMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.spi.media import Channel, MediaTransport

_NO_LIMIT: Final = 2**31 - 1


class ReceiveEndpointEntry(EndpointEntry):
    """A receive endpoint with its destinations and the count of its users. Used by the conductor only."""

    native: ReceiveChannelEndpoint

    def __init__(  # noqa: PLR0913 - what an endpoint is made from
        self,
        context: DriverContext,
        transport: MediaTransport,
        channel: Channel,
        key: str,
        registration_id: int,
        *,
        receiver_id: int,
        group_tag: int | None,
    ) -> None:
        super().__init__(context, transport, channel, key, registration_id)
        # Images that the receiver has not released; they keep the endpoint open.
        self.image_count = 0
        self._elicitation_ns = 0
        # Number of subscriptions for responses whose session id is not known yet: they request no stream.
        self._awaited_count = 0
        self.group_tag = group_tag
        self._interests: dict[int, StreamInterest] = {}
        # (stream id, session id or None for all sessions) -> number of subscriptions
        self._wanted: Multiset[tuple[int, int | None]] = Multiset()
        # A medium with connections limits their number, and their sources cannot be forged: its images need no permits.
        self.awaited = (
            context.awaited_images
            if transport.has_datagrams
            else AwaitedImages(NetworkCounts(_NO_LIMIT, _NO_LIMIT), NetworkCounts(_NO_LIMIT, _NO_LIMIT))
        )
        # Created here, but used by the receiver alone: the conductor only passes it in commands.
        self.dispatcher = Dispatcher(
            context.from_receiver,
            context.system_counters,
            context.settings.stream_session_limit,
            self.awaited,
        )
        self._receiver_id = receiver_id
        self.destinations: list[ReceiveDestination] = []
        self.status = self.allocate_status(counter_types.RECEIVE_CHANNEL_STATUS, "rcv-channel")
        try:
            self.open_protector(ProtectedRole.SUBSCRIPTION)
            if self.has_destinations:
                # Sockets belong to the destinations only.
                self.native = ReceiveChannelEndpoint()
            else:
                # Opened on the conductor's thread: an error, such as a port in use, becomes the response to the
                # command.
                opened = transport.open_receive_endpoint(self.params_for(channel))
                self.native = context.registry.check_endpoint(
                    channel.uri.media, opened, ReceiveChannelEndpoint
                )
        except BaseException:
            self.free_counters(self.status)
            raise
        self.publish_addresses(self.status, "rcv-local-sockaddr")
        self._control = ControlAddress(channel, self.native)
        context.receiver.send(operations.ADD_RECEIVE_ENDPOINT, self.native, self.dispatcher)
        context.events.record(events.RECEIVE_CHANNEL_CREATION, uri=channel.uri)

    @property
    def current_local(self) -> SocketAddress | None:
        """See `EndpointEntry.current_local`."""
        return self._control.address

    @property
    def has_destinations(self) -> bool:
        """Whether the endpoint receives at destinations that commands add and remove, not at its own address."""
        return ControlMode.of(self.channel.uri) is ControlMode.MANUAL

    @property
    def natives(self) -> list[ReceiveChannelEndpoint]:
        """Native endpoints that receive: those of the destinations, or the endpoint's own."""
        if self.has_destinations:
            return [destination.native for destination in self.destinations]
        return [self.native]

    def channel_of(self, native: object) -> Channel:
        """Return the channel of the destination with that native endpoint, else the channel of this endpoint."""
        found = (each.channel for each in self.destinations if each.native is native)
        return next(found, self.channel)

    @property
    def controls(self) -> list[ControlAddress]:
        """Control addresses of the endpoint and its destinations, if their channels request SETUP frames there."""
        named = [destination.control for destination in self.destinations]
        return [control for control in (self._control, *named) if control.channel.elicits_setup]

    def params_for(self, channel: Channel) -> ReceiveEndpointParams:
        """Return the parameters of a socket of this endpoint at the address of `channel`."""
        settings = self.context.settings
        uri = self.channel.uri
        return ReceiveEndpointParams(
            channel=channel,
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
            data_loss=LossRates(
                settings.debug_receive_data_loss_rate, settings.debug_receive_data_loss_seed or 0
            ),
            control_loss=LossRates(
                settings.debug_send_control_loss_rate, settings.debug_send_control_loss_seed or 0
            ),
            incoming_losses=settings.incoming_losses,
            wildcard_ports=settings.receiver_wildcard_port_range,
            clock=self.context.clock,
            dispatcher=self.dispatcher,
            batch=self.context.receive_batch,
            receiver_id=self._receiver_id,
            group_tag=self.group_tag,
            subscription=uri,
        )

    @property
    def is_unused(self) -> bool:
        """Whether neither subscriptions nor images need the endpoint."""
        return not self._wanted and self._awaited_count == 0 and self.image_count == 0

    def hold(self) -> None:
        """Keep the endpoint open for a subscription whose session id is not set yet."""
        self._awaited_count += 1

    def release(self) -> None:
        """Undo one `hold`."""
        self._awaited_count -= 1

    def subscribe(self, stream_id: int, session_id: int | None) -> None:
        """Receive a stream for one more subscription: one session, or all with `session_id` None."""
        interest = self._interests.get(stream_id)
        if interest is None:
            interest = self._interests[stream_id] = StreamInterest(stream_id, self.awaited)
            self.context.receiver.send(operations.ADD_INTEREST, self.dispatcher, interest)
        # Called before the count changes: the first subscription of the endpoint requests a SETUP of any session.
        self._elicit_setup_for(session_id, stream_id)
        self._wanted[stream_id, session_id] += 1
        # The receiver does not count subscriptions: it gets only the addition of the first and the removal of the
        # last.
        if self._wanted[stream_id, session_id] > 1:
            return
        if session_id is None:
            self.context.receiver.send(operations.SUBSCRIBE_ALL, self.dispatcher, interest)
        else:
            self.context.receiver.send(operations.SUBSCRIBE_SESSION, self.dispatcher, interest, (session_id,))

    def _elicit_setup_for(self, session_id: int | None, stream_id: int) -> None:
        for control in self.controls:
            # Ids of 0 stand for any session: the sender adds this receiver to its destinations and
            # answers with its SETUP.
            if not self._wanted:
                self._elicit_setup(control, 0, 0)
            if session_id is not None:
                self._elicit_setup(control, session_id, stream_id)

    def elicit_setup_of(self, session_id: int, stream_id: int) -> None:
        """Request a SETUP of one session at all control addresses."""
        for control in self.controls:
            self._elicit_setup(control, session_id, stream_id)

    def _elicit_setup(self, control: ControlAddress, session_id: int, stream_id: int) -> None:
        # A request for one session also postpones the next periodic request of `on_timer`.
        self._elicitation_ns = self.context.clock.nano_time()
        self.context.receiver.send(
            operations.ELICIT_SETUP, self.dispatcher, control.native, (session_id, stream_id)
        )

    def on_timer(self, now_ns: int) -> None:
        """Request a SETUP of any session at all control addresses, if streams are subscribed.

        Requests come about a second after the last one, whatever session that was for.
        """
        # This method runs once per timer interval. Requests half an interval early keep the average near one
        # second; otherwise each one would be late by up to an interval.
        due_ns = (
            self._elicitation_ns
            + wire.PENDING_SETUP_TIMEOUT_NS
            - self.context.settings.timer_interval_ns // 2
        )
        if self._wanted and now_ns >= due_ns:
            for control in self.controls:
                self._elicit_setup(control, 0, 0)

    def unsubscribe(self, stream_id: int, session_id: int | None) -> None:
        """Undo one `subscribe` with the same ids; the receiver drops the stream after its last subscription."""
        self._wanted[stream_id, session_id] -= 1
        if self._wanted[stream_id, session_id] > 0:
            return
        del self._wanted[stream_id, session_id]
        interest = self._interests[stream_id]
        if session_id is None:
            self.context.receiver.send(operations.UNSUBSCRIBE_ALL, self.dispatcher, interest)
        else:
            self.context.receiver.send(
                operations.UNSUBSCRIBE_SESSION, self.dispatcher, interest, (session_id,)
            )
        if not any(wanted_stream == stream_id for wanted_stream, _ in self._wanted):
            # The proxy keeps the object alive until the receiver confirms its removal.
            del self._interests[stream_id]
            self.context.receiver.remove(operations.REMOVE_INTEREST, self.dispatcher, interest)

    def add_destination(self, transport: MediaTransport, channel: Channel, registration_id: int) -> None:
        """Open a destination; `registration_id` is that of the subscription.

        Raises ChannelUriError if its URI has another security than the subscription, OSError if its socket cannot be
        opened, StorageError if no counter is free.
        """
        check_destination_security(channel.uri, self.channel.uri)
        destination = ReceiveDestination(
            self.context, self.dispatcher, transport, self.params_for(channel), registration_id
        )
        self.destinations.append(destination)
        if destination.control.channel.elicits_setup:
            self._elicit_setup(destination.control, 0, 0)

    def remove_destination(self, destination: ReceiveDestination) -> None:
        """Close a destination; the images of the endpoint must not use it any more."""
        self.destinations.remove(destination)
        destination.close()

    def record_fault(self) -> None:
        """Log the pending faults of the endpoint and of each destination."""
        super().record_fault()
        for destination in self.destinations:
            destination.record_fault()

    def close_sockets(self) -> None:
        """Close all sockets; only after the agents have stopped."""
        super().close_sockets()
        for destination in self.destinations:
            destination.close_socket()

    def close(self, on_released: Callable[[], None]) -> None:
        """Remove the endpoint from the receiver, then close it and call `on_released`."""
        for destination in list(self.destinations):
            # Destinations are removed before the endpoint, because they deliver to its dispatcher; the ring keeps the
            # order.
            self.remove_destination(destination)
        self.context.events.record(events.RECEIVE_CHANNEL_CLOSE, uri=self.channel.uri)
        # Clients that read the status see that the channel no longer works.
        self.status.set_release(counter_types.CHANNEL_STATUS_CLOSING)
        self.context.receiver.remove(
            operations.REMOVE_RECEIVE_ENDPOINT, self.native, then=partial(self._closed, on_released)
        )

    def _closed(self, on_released: Callable[[], None]) -> None:
        # The receiver has released the endpoint: no thread reads from its sockets any more.
        on_released()
        self.transport.close_endpoint(self.native)
        self.record_fault()
        # The dispatcher was passed with its endpoints and has no removal of its own.
        self.context.receiver.forget(self.dispatcher)
        self.free_counters(self.status)
