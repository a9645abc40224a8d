"""All images of a driver: made when the receiver sees a stream that is wanted, taken down when it is over."""

from __future__ import annotations

import random
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core.driver._native import operations
from aeron_core.driver.agents.one_way_latency import OneWayEstimate
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.lifecycle import reserve_links, take_ended
from aeron_core.driver.conductor.stream_counters import CounterOwner
from aeron_core.driver.conductor.subscriptions.image_lifecycle import ImageLifecycle
from aeron_core.driver.receiver.image_connections import ImageConnection
from aeron_core.driver.receiver.image_params import ImageParams
from aeron_core.driver.receiver.nak_delay import MulticastNakDelay, UnicastNakDelay
from aeron_core.driver.receiver.publication_image import PublicationImage
from aeron_core.driver.socket_lengths import (
    os_default_rcvbuf_length,
    os_default_sndbuf_length,
    os_max_rcvbuf_length,
    os_max_sndbuf_length,
)
from aeron_core.errors import AeronError
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.protocol.frames.setup import Setup
from aeron_core.spi.congestion_control import CongestionControlParams, initial_window_length_of
from aeron_core.uri.defaults import Inferable
from aeron_core.uri.endpoint_parameters import EndpointParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.commands import Command
    from aeron_core._native.counter import Counter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.log_storage import StoredLog
    from aeron_core.driver.conductor.subscriptions.subscription import SubscriptionEntry
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.driver.receiver.nak_delay import NakDelay
    from aeron_core.spi.congestion_control import CongestionControl
    from aeron_core.spi.media import Channel

#: Type and name of the counters of an image, in the order in which they are allocated.
_COUNTERS = (
    (stream_counters.RECEIVER_HWM, "rcv-hwm"),
    (stream_counters.RECEIVER_POSITION, "rcv-pos"),
    (stream_counters.RECEIVER_NAKS_SENT, "rcv-naks-sent"),
)


class ImageRegistrar:
    """Used by the conductor only."""

    def __init__(self, context: DriverContext, subscriptions: SubscriptionRegistrar) -> None:
        self.context = context
        self.subscriptions = subscriptions
        self.streams: list[ImageLifecycle] = []

    def on_create_image(self, command: Command) -> None:
        """Make an image of the stream that a SETUP described; a fault is logged, the next SETUP tries again."""
        endpoint = next(
            (e for e in self.subscriptions.endpoints.values() if e.dispatcher is command.subject), None
        )
        if endpoint is None:
            return
        setup = _setup_of(command)
        try:
            self._create(endpoint, setup, command)
        except (AeronError, OSError) as error:
            self.context.errors.record_exception(
                error,
                f"cannot make an image of session {setup.session_id}, stream {setup.stream_id} of "
                f"{endpoint.channel.uri} from {command.source}",
            )
            self.context.receiver.send(
                operations.FORGET_SESSION, endpoint.dispatcher, None, (setup.session_id, setup.stream_id)
            )

    def _create(self, endpoint: ReceiveEndpointEntry, setup: Setup, command: Command) -> None:
        linked = self.subscriptions.of_image(endpoint, setup.stream_id, setup.session_id)
        if not linked:
            self.context.receiver.send(
                operations.FORGET_SESSION, endpoint.dispatcher, None, (setup.session_id, setup.stream_id)
            )
            return
        subscription = linked[0]
        self._check_ttl(endpoint.channel_of(command.target), command.values[0])
        source = str(command.source)
        connections = self._connections(endpoint, command)
        correlation_id = self.context.next_correlation_id()
        stored = self.context.logs.create(
            "images", correlation_id, self._log_params(endpoint, subscription, setup, correlation_id)
        )
        counters: list[Counter] = []
        with ExitStack() as undo:
            undo.callback(self._give_back, stored, counters)
            new_counter = partial(self._new_strategy_counter, counters, subscription, setup, correlation_id)
            # A strategy's counters come first, as in the reference.
            congestion_control = self._congestion_control(
                subscription, setup, correlation_id, source, counters
            )
            self._check_window(endpoint, setup, congestion_control)
            hwm_position, rebuild_position, naks_sent = self._allocate_counters(
                counters, subscription, setup, correlation_id
            )
            one_way = self._one_way(partial(new_counter, stream_counters.PER_IMAGE))
            image = PublicationImage(
                ImageParams(
                    correlation_id=correlation_id,
                    session_id=setup.session_id,
                    stream_id=setup.stream_id,
                    endpoint=endpoint.native,
                    log=stored.log,
                    position=positions.compute_position(
                        setup.active_term_id,
                        setup.term_offset,
                        stored.log.position_bits_to_shift,
                        setup.initial_term_id,
                    ),
                    connections=connections,
                    hwm_position=hwm_position,
                    rebuild_position=rebuild_position,
                    naks_sent=naks_sent,
                    system_counters=self.context.system_counters,
                    congestion_control=congestion_control,
                    nak_delay=self._nak_delay(endpoint, subscription, setup),
                    is_reliable=subscription.params.is_reliable,
                    status_message_timeout_ns=self.context.settings.rcv_status_message_timeout_ns,
                    now_ns=self.context.clock.nano_time(),
                    clock=self.context.clock,
                    one_way=one_way,
                )
            )
            stream = ImageLifecycle(
                self.context,
                image,
                endpoint,
                stored,
                source=source,
                channel=subscription.channel,
                counters=counters,
                is_rejoin=subscription.params.is_rejoin,
                connections=connections,
                untethered=subscription.params.untethered,
            )
            stream.requests_response = bool(setup.flags & wire.SETUP_FLAG_SEND_RESPONSE)
            links = reserve_links((stream, each) for each in linked)
            undo.pop_all()
        self.streams.append(stream)
        endpoint.image_count += 1
        for link in links:
            link.establish()
        stream.start(when_removed=partial(self._on_removed, endpoint))

    def _check_ttl(self, channel: Channel, sender_ttl: int) -> None:
        ttl = EndpointParams.parse(channel.uri).ttl or self.context.settings.socket_multicast_ttl
        if channel.is_multicast and ttl < sender_ttl:
            # What we say may not come as far as what the sender says.
            self.context.system_counters.possible_ttl_asymmetry.get_and_add(1)

    def _connections(self, endpoint: ReceiveEndpointEntry, command: Command) -> list[ImageConnection]:
        connections = [ImageConnection(native) for native in endpoint.natives]
        for connection in connections:
            if connection.endpoint is command.target:
                connection.begin(command.control, self.context.clock.nano_time())
        return connections

    def _give_back(self, stored: StoredLog, counters: list[Counter]) -> None:
        for counter in counters:
            self.context.counters.free(counter.id)
        self.context.logs.delete(stored)

    def _congestion_control(
        self,
        subscription: SubscriptionEntry,
        setup: Setup,
        correlation_id: int,
        source: str,
        counters: list[Counter],
    ) -> CongestionControl:
        settings = self.context.settings
        text = subscription.params.congestion_control or settings.congestion_control
        name, _, options = text.partition(",")
        return self.context.registry.congestion_control(
            name,
            CongestionControlParams(
                channel=subscription.channel,
                stream_id=setup.stream_id,
                session_id=setup.session_id,
                registration_id=correlation_id,
                term_length=setup.term_length,
                sender_mtu=setup.mtu,
                initial_window_length=subscription.params.initial_window_length,
                socket_rcvbuf_length=settings.socket_so_rcvbuf_length,
                source=source,
                options=options,
                now_ns=self.context.clock.nano_time(),
                measures_rtt=settings.cubic_measure_rtt,
                initial_rtt_ns=settings.cubic_initial_rtt_ns,
                is_tcp_mode=settings.cubic_tcp_mode,
                new_counter=partial(
                    self._new_strategy_counter, counters, subscription, setup, correlation_id
                ),
            ),
            partial(
                self.context.errors.record_exception,
                context=f"congestion control {name!r} of {subscription.channel}",
            ),
        )

    def _one_way(self, new_counter: Callable[[str], Counter]) -> OneWayEstimate | None:
        if self.context.settings.one_way_latency_interval_ns == 0:
            return None
        return OneWayEstimate(new_counter("rcv-owl-latency"), new_counter("rcv-owl-drift"))

    def _check_window(
        self, endpoint: ReceiveEndpointEntry, setup: Setup, congestion_control: CongestionControl
    ) -> None:
        # Source: aeron_driver_conductor.c: an image that cannot take one datagram would never get on.
        window = initial_window_length_of(congestion_control)
        if setup.mtu > window:
            raise AeronError(
                f"mtu={setup.mtu} of the sender is greater than the initial window length {window}: raise rcv-wnd"
            )

    def _nak_delay(
        self, endpoint: ReceiveEndpointEntry, subscription: SubscriptionEntry, setup: Setup
    ) -> NakDelay:
        settings = self.context.settings
        if not subscription.params.is_reliable:
            # Nobody is asked: there is nothing to wait for.
            return UnicastNakDelay(0, 0)
        if _is_group(endpoint, subscription, setup):
            return MulticastNakDelay(
                settings.nak_multicast_group_size,
                settings.nak_multicast_max_backoff_ns,
                random.getrandbits(64),
            )
        first_ns = subscription.params.nak_delay_ns
        if first_ns is None:
            first_ns = settings.nak_unicast_delay_ns
        return UnicastNakDelay(first_ns, first_ns * settings.nak_unicast_retry_delay_ratio)

    def _allocate_counters(
        self, counters: list[Counter], subscription: SubscriptionEntry, setup: Setup, correlation_id: int
    ) -> list[Counter]:
        owner = CounterOwner(
            correlation_id, setup.session_id, setup.stream_id, subscription.channel, subscription.client_id
        )
        for type_id, name in _COUNTERS:
            counters.append(
                stream_counters.allocate_stream_counter(self.context.counters, type_id, name, owner)
            )
        return counters[-len(_COUNTERS) :]

    def _new_strategy_counter(  # noqa: PLR0913 - all but the last two are bound
        self,
        counters: list[Counter],
        subscription: SubscriptionEntry,
        setup: Setup,
        correlation_id: int,
        type_id: int,
        name: str,
    ) -> Counter:
        owner = CounterOwner(correlation_id, setup.session_id, setup.stream_id, subscription.channel)
        counters.append(stream_counters.allocate_stream_counter(self.context.counters, type_id, name, owner))
        return counters[-1]

    def _log_params(
        self,
        endpoint: ReceiveEndpointEntry,
        subscription: SubscriptionEntry,
        setup: Setup,
        correlation_id: int,
    ) -> LogBufferParams:
        settings = self.context.settings
        params = subscription.params
        return LogBufferParams(
            initial_term_id=setup.initial_term_id,
            term_id=setup.active_term_id,
            term_offset=setup.term_offset,
            term_length=setup.term_length,
            mtu_length=setup.mtu,
            session_id=setup.session_id,
            stream_id=setup.stream_id,
            log_type=wire.LOG_TYPE_IMAGE,
            correlation_id=correlation_id,
            page_size=settings.file_page_size,
            receiver_window_length=params.initial_window_length,
            socket_rcvbuf_length=params.endpoint.socket_rcvbuf_length or settings.socket_so_rcvbuf_length,
            os_default_socket_sndbuf_length=os_default_sndbuf_length(),
            os_max_socket_sndbuf_length=os_max_sndbuf_length(settings),
            os_default_socket_rcvbuf_length=os_default_rcvbuf_length(),
            os_max_socket_rcvbuf_length=os_max_rcvbuf_length(settings),
            entity_tag=-1,
            response_correlation_id=-1,
            untethered_window_limit_timeout_ns=params.untethered.window_limit_timeout_ns,
            untethered_linger_timeout_ns=params.untethered.linger_timeout_ns,
            untethered_resting_timeout_ns=params.untethered.resting_timeout_ns,
            group=_is_group(endpoint, subscription, setup),
            is_response=params.is_response,
            rejoin=params.is_rejoin,
            reliable=params.is_reliable,
            sparse=params.is_sparse,
            tether=params.is_tether,
        )

    def on_timer(self, now_ns: int) -> None:
        """Go on with the life of all images."""
        for stream in take_ended(self.streams, now_ns):
            stream.close()

    def _on_removed(self, endpoint: ReceiveEndpointEntry) -> None:
        endpoint.image_count -= 1
        self.subscriptions.close_if_unused(endpoint)


def _is_group(endpoint: ReceiveEndpointEntry, subscription: SubscriptionEntry, setup: Setup) -> bool:
    # Source: aeron_driver_conductor.c, aeron_driver_conductor_treat_image_as_multicast.
    if subscription.params.group is Inferable.INFER:
        return endpoint.channel.is_multicast or bool(setup.flags & wire.SETUP_FLAG_GROUP)
    return subscription.params.group is Inferable.TRUE


def _setup_of(command: Command) -> Setup:
    session_id, stream_id, initial_term_id, active_term_id, term_offset, term_length, mtu, flags = (
        command.numbers
    )
    return Setup(
        session_id=session_id,
        stream_id=stream_id,
        initial_term_id=initial_term_id,
        active_term_id=active_term_id,
        term_offset=term_offset,
        term_length=term_length,
        mtu=mtu,
        flags=flags,
    )
