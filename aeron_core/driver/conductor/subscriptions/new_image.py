"""Construction of the receiver's object for an image: its log metadata, strategies, counters and parameters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core.concurrent import counter_types
from aeron_core.driver.agents.one_way_latency import OneWayEstimate
from aeron_core.driver.random_bits import random_bits
from aeron_core.driver.receiver.image_params import ImageParams
from aeron_core.driver.receiver.nak_delay import MulticastNakDelay, UnicastNakDelay
from aeron_core.driver.receiver.publication_image import PublicationImage
from aeron_core.driver.socket_lengths import os_default_rcvbuf_length, os_default_sndbuf_length
from aeron_core.errors import AeronError
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.spi.congestion_control import CongestionControlParams, initial_window_length_of
from aeron_core.uri.endpoint_parameters import EndpointParameters

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.conductor.subscriptions.image_request import ImageRequest
    from aeron_core.driver.receiver.image_connections import ImageConnection
    from aeron_core.driver.receiver.nak_delay import NakDelay
    from aeron_core.settings.driver import DriverFields
    from aeron_core.spi.congestion_control import CongestionControl


def image_log_params(settings: DriverFields, request: ImageRequest) -> LogBufferParams:
    """Return the metadata of an image's log; as in the reference, socket lengths that no URI sets are 0."""
    params, setup = request.subscription.params, request.setup
    # As in the reference, the lengths are those of the URI that opened the socket, 0 if it sets none.
    sockets = EndpointParameters.parse(request.endpoint.channel.uri)
    return LogBufferParams(
        initial_term_id=setup.initial_term_id,
        term_id=setup.active_term_id,
        term_offset=setup.term_offset,
        term_length=setup.term_length,
        mtu_length=setup.mtu,
        session_id=setup.session_id,
        stream_id=setup.stream_id,
        log_type=wire.LOG_TYPE_IMAGE,
        correlation_id=request.correlation_id,
        page_size=settings.file_page_size,
        receiver_window_length=params.initial_window_length,
        socket_sndbuf_length=sockets.socket_sndbuf_length,
        socket_rcvbuf_length=sockets.socket_rcvbuf_length,
        os_default_socket_sndbuf_length=os_default_sndbuf_length(),
        os_default_socket_rcvbuf_length=os_default_rcvbuf_length(),
        untethered_window_limit_timeout_ns=params.untethered.window_limit_timeout_ns,
        untethered_linger_timeout_ns=params.untethered.linger_timeout_ns,
        untethered_resting_timeout_ns=params.untethered.resting_timeout_ns,
        group=request.is_group,
        is_response=params.is_response,
        rejoin=params.is_rejoin,
        reliable=params.is_reliable,
        sparse=params.is_sparse,
        tether=params.is_tether,
    )


def new_image(
    context: DriverContext,
    request: ImageRequest,
    storage: StreamStorage,
    connections: list[ImageConnection],
) -> PublicationImage:
    """Return an image for the receiver; its counters are added to `storage`.

    Raises StorageError if no counter is free, AeronError if the initial window is shorter than the mtu of the sender,
    or the error of the factory of the congestion control: PluginError, or another AeronError for wrong options.
    """
    setup, settings = request.setup, context.settings
    # Counters of a strategy come first, as in the reference.
    congestion_control = _congestion_control(context, request, storage)
    _check_window(request, congestion_control)
    storage.allocate(counter_types.RECEIVER_HWM, "rcv-hwm")
    storage.allocate(counter_types.RECEIVER_POSITION, "rcv-pos")
    storage.allocate(counter_types.RECEIVER_NAKS_SENT, "rcv-naks-sent")
    one_way = _one_way_estimate(settings, storage)
    return PublicationImage(
        ImageParams(
            correlation_id=request.correlation_id,
            session_id=setup.session_id,
            stream_id=setup.stream_id,
            endpoint=request.endpoint.native,
            log=storage.log,
            # The position of the SETUP: a receiver that joins late starts there, not at the start of the
            # stream.
            position=positions.compute_position(
                setup.active_term_id,
                setup.term_offset,
                storage.log.position_bits_to_shift,
                setup.initial_term_id,
            ),
            connections=connections,
            awaited=request.endpoint.awaited,
            hwm_position=storage[counter_types.RECEIVER_HWM],
            rebuild_position=storage[counter_types.RECEIVER_POSITION],
            image_naks_sent=storage[counter_types.RECEIVER_NAKS_SENT],
            # Prepared here, because the receiver cannot build text without the GIL.
            losses=context.loss_report.prepare(
                session_id=setup.session_id,
                stream_id=setup.stream_id,
                channel=request.subscription.channel,
                source=request.source,
            ),
            system_counters=context.system_counters,
            congestion_control=congestion_control,
            nak_delay=_nak_delay(settings, request),
            is_reliable=request.subscription.params.is_reliable,
            status_message_timeout_ns=settings.rcv_status_message_timeout_ns,
            liveness_timeout_ns=settings.image_liveness_timeout_ns,
            now_ns=context.clock.nano_time(),
            clock=context.clock,
            one_way=one_way,
            bell=context.bell_of(request.correlation_id),
        )
    )


def _congestion_control(
    context: DriverContext, request: ImageRequest, storage: StreamStorage
) -> CongestionControl:
    settings, setup, subscription = context.settings, request.setup, request.subscription
    text = subscription.params.congestion_control or settings.congestion_control
    name, _, options = text.partition(",")
    return context.registry.congestion_control(
        name,
        CongestionControlParams(
            channel=subscription.channel,
            stream_id=setup.stream_id,
            session_id=setup.session_id,
            registration_id=request.correlation_id,
            term_length=setup.term_length,
            sender_mtu=setup.mtu,
            initial_window_length=subscription.params.initial_window_length,
            socket_rcvbuf_length=settings.socket_so_rcvbuf_length,
            source=request.source,
            options=options,
            now_ns=context.clock.nano_time(),
            measures_rtt=settings.cubic_measure_rtt,
            initial_rtt_ns=settings.cubic_initial_rtt_ns,
            is_tcp_mode=settings.cubic_tcp_mode,
            new_counter=storage.new_strategy_counter,
        ),
        partial(
            context.errors.record_exception,
            context=f"congestion control {name!r} of {subscription.channel}",
        ),
    )


def _check_window(request: ImageRequest, congestion_control: CongestionControl) -> None:
    # Source: aeron_driver_conductor.c: an image with a window below one datagram would never make progress.
    window = initial_window_length_of(congestion_control)
    if request.setup.mtu > window:
        raise AeronError(
            f"mtuLength={request.setup.mtu} > initialWindowLength={window}: lower mtu of the sender, or raise rcv-wnd; "
            f"the window is at most half of the sender's term-length={request.setup.term_length}"
        )


def _one_way_estimate(settings: DriverFields, storage: StreamStorage) -> OneWayEstimate | None:
    if settings.one_way_latency_interval_ns == 0:
        return None
    latency = storage.new_strategy_counter(counter_types.PER_IMAGE, "rcv-owl-latency")
    return OneWayEstimate(latency, storage.new_strategy_counter(counter_types.PER_IMAGE, "rcv-owl-drift"))


def _nak_delay(settings: DriverFields, request: ImageRequest) -> NakDelay:
    params = request.subscription.params
    if not params.is_reliable:
        # No NAK is sent: a gap is filled without delay.
        return UnicastNakDelay(0, 0)
    if request.is_group:
        return MulticastNakDelay(
            settings.nak_multicast_group_size,
            settings.nak_multicast_max_backoff_ns,
            # A seed for each image: receivers of a group must not choose the same delays.
            random_bits(64),
        )
    first_ns = params.nak_delay_ns
    if first_ns is None:
        first_ns = settings.nak_unicast_delay_ns
    # A single receiver cannot multiply NAKs, so it requests without a random delay, and repeats at a fixed interval,
    # until `LossDetector` backs off.
    return UnicastNakDelay(first_ns, first_ns * settings.nak_unicast_retry_delay_ratio)
