"""The network publications of a driver, and the sending ends that they share."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
from aeron_core.driver.conductor.endpoints.shared_endpoints import (
    check_original,
    check_socket_lengths,
    find_endpoint,
    key_of,
)
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.lifecycle import take_ended
from aeron_core.driver.conductor.publications.ipc_publication_registrar import start_position
from aeron_core.driver.conductor.publications.network_publication_lifecycle import (
    NetworkPublicationLifecycle,
    NetworkPublications,
)
from aeron_core.driver.conductor.publications.publication_log import publication_log_params
from aeron_core.driver.conductor.publications.publication_registrar import PublicationRegistrar
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.sender.acknowledged_publication import AcknowledgedPublication
from aeron_core.driver.sender.network_publication import NetworkPublication
from aeron_core.driver.sender.publication_params import NetworkPublicationParams
from aeron_core.errors import ErrorCode
from aeron_core.protocol import responses
from aeron_core.spi.flow_control import FlowControlParams
from aeron_core.uri.parameters import NULL_CORRELATION_ID, PublicationParams

if TYPE_CHECKING:
    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.log_storage import StoredLog
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.spi.flow_control import FlowControl
    from aeron_core.spi.media import Channel, MediaTransport

#: Type and name of the counters of a publication, in the order in which they are allocated.
_COUNTERS = (
    (counter_types.PUBLISHER_POSITION, "pub-pos ({kind})"),
    (counter_types.PUBLISHER_LIMIT, "pub-lmt"),
    (counter_types.SENDER_POSITION, "snd-pos"),
    (counter_types.SENDER_LIMIT, "snd-lmt"),
    (counter_types.SENDER_BPE, "snd-bpe"),
    (counter_types.SENDER_NAKS_RECEIVED, "snd-naks-received"),
)


class NetworkPublicationRegistrar(PublicationRegistrar):
    """Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        subscriptions: SubscriptionRegistrar,
        publications: NetworkPublications,
    ) -> None:
        super().__init__(context, publications.find_tagged)
        self._subscriptions = subscriptions
        self.lifecycles = publications.lifecycles
        self.endpoints: dict[str, SendEndpointEntry] = {}

    def add(
        self,
        client: Client,
        command: AddPublication | AddExclusivePublication,
        transport: MediaTransport,
        channel: Channel,
        *,
        is_exclusive: bool,
    ) -> NetworkPublicationLifecycle | None:
        """Make or share a publication and tell its client; return it if it is new."""
        uri = channel.uri
        params = PublicationParams.parse(
            uri,
            self.context.settings.publication_defaults,
            self._find_tagged,
            has_datagrams=transport.has_datagrams,
        )
        endpoint = find_endpoint(self.endpoints, channel)
        if endpoint is None:
            check_original(channel)
        else:
            transport.check_shared(channel, endpoint.channel)
            endpoint.check_timestamps(channel, "channel-snd-ts-offset")
            self._check_sockets(endpoint, channel, params)
        siblings = [lifecycle for lifecycle in self.lifecycles if lifecycle.endpoint is endpoint]
        lifecycle = None if is_exclusive else self.find_shared(siblings, command.stream_id, params, uri)
        new = None
        if lifecycle is None:
            session_id = self.session_id_for(params, siblings, command.stream_id, uri)
            if endpoint is None:
                endpoint = SendEndpointEntry(self.context, transport, channel, command.correlation_id)
                endpoint.key = key_of(self.endpoints, channel)
                self.endpoints[endpoint.key] = endpoint
            try:
                new = lifecycle = self._create(
                    command, params, endpoint, session_id, is_exclusive=is_exclusive
                )
            except BaseException:
                self._close_if_unused(endpoint)
                raise
        self.use(client, command, lifecycle)
        ready = responses.OnExclusivePublicationReady if is_exclusive else responses.OnPublicationReady
        self.context.clients.send(
            ready(
                command.correlation_id,
                lifecycle.registration_id,
                lifecycle.session_id,
                lifecycle.stream_id,
                lifecycle.counters[1].id,
                lifecycle.endpoint.status.id,
                str(lifecycle.log_path),
            )
        )
        return new

    def _check_sockets(
        self, endpoint: SendEndpointEntry, channel: Channel, params: PublicationParams
    ) -> None:
        settings = self.context.settings
        check_socket_lengths(
            channel,
            endpoint.channel,
            {
                "so-sndbuf": settings.socket_so_sndbuf_length,
                "so-rcvbuf": settings.socket_so_rcvbuf_length,
            },
            asks_for_defaults=False,
        )
        length = endpoint.channel.uri.get_size("so-sndbuf", 0)
        if endpoint.transport.has_datagrams and length and length < params.mtu:
            raise CommandRefusedError(
                f"MTU greater than SO_SNDBUF for endpoint: mtu={params.mtu} in {channel.uri}: must be at most "
                f"so-sndbuf={length} of {endpoint.channel.uri}",
                ErrorCode.GENERIC_ERROR,
            )

    def _create(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        endpoint: SendEndpointEntry,
        session_id: int,
        *,
        is_exclusive: bool,
    ) -> NetworkPublicationLifecycle:
        log_params = publication_log_params(
            self.context,
            command,
            params,
            session_id,
            is_exclusive=is_exclusive,
            is_group=endpoint.channel.is_group,
        )
        stored = self.context.logs.create("publications", command.correlation_id, log_params)
        lifecycle = NetworkPublicationLifecycle(
            self.context,
            stored,
            params,
            registration_id=command.correlation_id,
            session_id=session_id,
            stream_id=command.stream_id,
            channel=command.channel,
            is_exclusive=is_exclusive,
        )
        lifecycle.endpoint = endpoint
        owner = CounterOwner(
            command.correlation_id, session_id, command.stream_id, command.channel, command.client_id
        )
        kind = "exclusive" if is_exclusive else "concurrent"
        names = [(type_id, name.format(kind=kind)) for type_id, name in _COUNTERS]
        with ExitStack() as undo:
            undo.callback(lifecycle.close)
            flow_control = self._flow_control(command, params, lifecycle, log_params.initial_term_id)
            lifecycle.allocate_counters(names, owner)
            publication_params = self._publication_params(command, params, lifecycle, stored, flow_control)
            if endpoint.transport.draws_from_log:
                lifecycle.publication = AcknowledgedPublication(publication_params)
                lifecycle.publication.medium_state = endpoint.native.new_stream_state()
            else:
                lifecycle.publication = NetworkPublication(publication_params)
            spies = reserve_links((lifecycle, each) for each in self._subscriptions.of_spies(lifecycle))
            undo.pop_all()
        endpoint.user_count += 1
        self.lifecycles.append(lifecycle)
        # Before the sender looks after the stream: whoever waited for it sees it from its start.
        for link in spies:
            link.establish()
        lifecycle.start()
        return lifecycle

    def _flow_control(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        lifecycle: NetworkPublicationLifecycle,
        initial_term_id: int,
    ) -> FlowControl:
        settings = self.context.settings
        channel = lifecycle.endpoint.channel
        is_group = channel.is_group
        default = settings.multicast_flow_control if is_group else settings.unicast_flow_control
        # With one receiver there is nothing to choose: the reference ignores `fc` there, and so do we for its
        # own strategies; a plugin's is used wherever it is named.
        name, _, options = (params.flow_control or default).partition(",")
        if not is_group and name in ("max", "min", "tagged"):
            name, options = default, ""
        return self.context.registry.flow_control(
            name,
            FlowControlParams(
                channel=command.channel,
                stream_id=command.stream_id,
                session_id=lifecycle.session_id,
                registration_id=command.correlation_id,
                initial_term_id=initial_term_id,
                term_length=params.term_length,
                mtu=params.mtu,
                is_multicast=channel.is_multicast,
                options=options,
                group_tag=settings.flow_control_group_tag,
                group_min_size=settings.flow_control_group_min_size,
                receiver_timeout_ns=settings.flow_control_receiver_timeout_ns,
                new_counter=lifecycle.new_strategy_counter,
            ),
            partial(
                self.context.errors.record_exception, context=f"flow control {name!r} of {command.channel}"
            ),
        )

    def _publication_params(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        lifecycle: NetworkPublicationLifecycle,
        stored: StoredLog,
        flow_control: FlowControl,
    ) -> NetworkPublicationParams:
        settings = self.context.settings
        endpoint = lifecycle.endpoint
        position = start_position(stored, params)
        for counter in lifecycle.counters[:4]:
            counter.set_release(position)
        return NetworkPublicationParams(
            registration_id=command.correlation_id,
            session_id=lifecycle.session_id,
            stream_id=command.stream_id,
            log=stored.log,
            position=position,
            publisher_window_length=params.publication_window_length,
            publisher_position=lifecycle.counters[0],
            publisher_limit=lifecycle.counters[1],
            sender_position=lifecycle.counters[2],
            sender_limit=lifecycle.counters[3],
            back_pressure_events=lifecycle.counters[4],
            naks_received=lifecycle.counters[5],
            endpoint=endpoint.native,
            flow_control=flow_control,
            system_counters=self.context.system_counters,
            batch=self.context.send_batch,
            conductor=self.context.from_sender,
            mtu=params.mtu,
            ttl=params.endpoint.ttl or settings.socket_multicast_ttl,
            is_group=endpoint.channel.is_group,
            requests_response=not params.is_response
            and params.response_correlation_id != NULL_CORRELATION_ID,
            is_response=params.is_response,
            uses_gso=self.context.uses_gso,
            signals_eos=params.signal_eos,
            spies_simulate_connection=params.spies_simulate_connection,
            max_messages_per_send=settings.network_publication_max_messages_per_send,
            max_resend=params.max_resend,
            initial_window_length=settings.rcv_initial_window_length,
            retransmit_delay_ns=settings.retransmit_unicast_delay_ns,
            retransmit_linger_ns=settings.retransmit_unicast_linger_ns,
            connection_timeout_ns=settings.publication_connection_timeout_ns,
            now_ns=self.context.clock.nano_time(),
            clock=self.context.clock,
            one_way_latency_interval_ns=settings.one_way_latency_interval_ns,
        )

    def _close_if_unused(self, endpoint: SendEndpointEntry) -> None:
        if endpoint.user_count == 0 and self.endpoints.get(endpoint.key) is endpoint:
            del self.endpoints[endpoint.key]
            endpoint.close()

    def _on_stopped(self, endpoint: SendEndpointEntry) -> None:
        endpoint.user_count -= 1
        self._close_if_unused(endpoint)

    def on_timer(self, now_ns: int) -> None:
        """Go on with the life of all publications."""
        for lifecycle in take_ended(self.lifecycles, now_ns):
            lifecycle.stop(partial(self._on_stopped, lifecycle.endpoint))
        for endpoint in self.endpoints.values():
            endpoint.record_fault()
            endpoint.native.update_counters()
