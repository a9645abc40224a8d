"""Construction of the sender's object for a network publication: its flow control, counters and parameters.

A publication over a connection has no flow control: the peer's confirmations are its limit.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent import counter_types
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.publications.publication_log import start_position
from aeron_core.driver.sender.acknowledged_publication import AcknowledgedPublication
from aeron_core.driver.sender.network_publication import NetworkPublication
from aeron_core.driver.sender.publication_params import (
    AcknowledgedPublicationParams,
    NetworkPublicationParams,
)
from aeron_core.registry import LOADED_AT_START
from aeron_core.spi.flow_control import FlowControlParams
from aeron_core.uri.parameters import NULL_CORRELATION_ID

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
    from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.sender.sending_publication import SendingPublication
    from aeron_core.spi.flow_control import FlowControl

#: Counters that hold a stream position from the start.
_POSITIONS: Final = (
    counter_types.PUBLISHER_POSITION,
    counter_types.PUBLISHER_LIMIT,
    counter_types.SENDER_POSITION,
    counter_types.SENDER_LIMIT,
)
#: Flow controls of the reference, which it uses for groups only.
_GROUP_FLOW_CONTROLS: Final = ("max", "min", "tagged")


def new_network_publication(
    context: DriverContext,
    request: PublicationRequest,
    endpoint: SendEndpointEntry,
    storage: StreamStorage,
    initial_term_id: int,
) -> SendingPublication:
    """Return a publication for the sender; its counters are added to `storage`.

    Raises StorageError if no counter is free, CommandRefusedError if the flow control is not installed, or the error of
    its factory: PluginError, or another AeronError for wrong options.
    """
    if endpoint.transport.draws_from_log:
        # Called for its check: a misspelt strategy is refused, as on any other channel.
        _flow_control_of(context, request, endpoint)
        _allocate_counters(request, storage)
        return AcknowledgedPublication(_acknowledged_params(context, request, endpoint, storage))
    # Counters of a strategy come first, as in the reference.
    flow_control = _new_flow_control(context, request, endpoint, storage, initial_term_id)
    _allocate_counters(request, storage)
    params = _network_params(context, request, endpoint, storage, flow_control)
    return NetworkPublication(params, endpoint.sender.heartbeats)


def _flow_control_of(
    context: DriverContext, request: PublicationRequest, endpoint: SendEndpointEntry
) -> tuple[str, str]:
    """Return the name of the strategy for a publication, and its options; see `new_network_publication` for errors."""
    settings, channel = context.settings, endpoint.channel
    default = settings.multicast_flow_control if channel.is_group else settings.unicast_flow_control
    # The reference ignores `fc` on channels with one receiver. So does this driver for the strategies of the
    # reference; a plugin's strategy is used on any channel that names it.
    name, _, options = (request.params.flow_control or default).partition(",")
    if not channel.is_group and name in _GROUP_FLOW_CONTROLS:
        name, _, options = default.partition(",")
    _check_flow_control(context, name, request.command.channel)
    return name, options


def _new_flow_control(
    context: DriverContext,
    request: PublicationRequest,
    endpoint: SendEndpointEntry,
    storage: StreamStorage,
    initial_term_id: int,
) -> FlowControl:
    settings, params = context.settings, request.params
    name, options = _flow_control_of(context, request, endpoint)
    return context.registry.flow_control(
        name,
        FlowControlParams(
            channel=request.command.channel,
            stream_id=request.command.stream_id,
            session_id=request.session_id,
            registration_id=request.registration_id,
            initial_term_id=initial_term_id,
            term_length=params.term_length,
            mtu=params.mtu,
            is_multicast=endpoint.channel.is_multicast,
            options=options,
            group_tag=settings.flow_control_group_tag,
            group_min_size=settings.flow_control_group_min_size,
            receiver_timeout_ns=settings.flow_control_receiver_timeout_ns,
            new_counter=storage.new_strategy_counter,
        ),
        partial(
            context.errors.record_exception, context=f"flow control {name!r} of {request.command.channel}"
        ),
    )


def _check_flow_control(context: DriverContext, name: str, channel: str) -> None:
    installed = context.registry.names("aeron_flow_controls")
    if name in installed:
        return
    text = (
        f"Invalid flow control strategy name: {name} from URI"
        if name
        else "No flow control strategy name specified, URI"
    )
    raise CommandRefusedError(
        f"{text}: {channel}: fc must begin with one of {', '.join(installed)}; {LOADED_AT_START}"
    )


def _allocate_counters(request: PublicationRequest, storage: StreamStorage) -> None:
    storage.allocate(counter_types.PUBLISHER_POSITION, request.position_name)
    storage.allocate(counter_types.PUBLISHER_LIMIT, "pub-lmt")
    storage.allocate(counter_types.SENDER_POSITION, "snd-pos")
    storage.allocate(counter_types.SENDER_LIMIT, "snd-lmt")
    storage.allocate(counter_types.SENDER_BPE, "snd-bpe")
    storage.allocate(counter_types.SENDER_NAKS_RECEIVED, "snd-naks-received")
    position = start_position(storage.log, request.params)
    # Set before the sender or a publisher uses them. The publisher limit equals the position, so publishers are held
    # back until the sender raises it.
    for type_id in _POSITIONS:
        storage[type_id].set_release(position)


def _acknowledged_params(
    context: DriverContext, request: PublicationRequest, endpoint: SendEndpointEntry, storage: StreamStorage
) -> AcknowledgedPublicationParams:
    params = request.params
    return AcknowledgedPublicationParams(
        registration_id=request.registration_id,
        session_id=request.session_id,
        stream_id=request.command.stream_id,
        log=storage.log,
        position=start_position(storage.log, params),
        publisher_window_length=params.publication_window_length,
        publisher_position=storage[counter_types.PUBLISHER_POSITION],
        publisher_limit=storage[counter_types.PUBLISHER_LIMIT],
        bell=context.bell_of(request.registration_id),
        endpoint=endpoint.native,
        sender_position=storage[counter_types.SENDER_POSITION],
        sender_limit=storage[counter_types.SENDER_LIMIT],
        medium_state=endpoint.native.new_stream_state(),
    )


def _network_params(
    context: DriverContext,
    request: PublicationRequest,
    endpoint: SendEndpointEntry,
    storage: StreamStorage,
    flow_control: FlowControl,
) -> NetworkPublicationParams:
    settings, params = context.settings, request.params
    return NetworkPublicationParams(
        registration_id=request.registration_id,
        session_id=request.session_id,
        stream_id=request.command.stream_id,
        log=storage.log,
        position=start_position(storage.log, params),
        publisher_window_length=params.publication_window_length,
        publisher_position=storage[counter_types.PUBLISHER_POSITION],
        publisher_limit=storage[counter_types.PUBLISHER_LIMIT],
        bell=context.bell_of(request.registration_id),
        endpoint=endpoint.native,
        sender_position=storage[counter_types.SENDER_POSITION],
        sender_limit=storage[counter_types.SENDER_LIMIT],
        back_pressure_events=storage[counter_types.SENDER_BPE],
        naks_received=storage[counter_types.SENDER_NAKS_RECEIVED],
        flow_control=flow_control,
        system_counters=context.system_counters,
        batch=endpoint.sender.send_batch,
        # Responses go to a receiver of their own each. The endpoint may be another channel's, with the same tag.
        shares_batches=endpoint.transport.shares_batches and not endpoint.is_response,
        # Events of the publication, such as an ERR frame of a receiver, go to the conductor by this ring.
        conductor=endpoint.sender.events,
        mtu=params.mtu,
        ttl=params.endpoint.ttl or settings.socket_multicast_ttl,
        is_group=endpoint.channel.is_group,
        requests_response=not params.is_response and params.response_correlation_id != NULL_CORRELATION_ID,
        is_response=params.is_response,
        uses_gso=context.uses_gso,
        signals_eos=params.signal_eos,
        spies_simulate_connection=params.spies_simulate_connection,
        max_messages_per_send=settings.network_publication_max_messages_per_send,
        max_resend=params.max_resend,
        initial_window_length=settings.rcv_initial_window_length,
        retransmit_delay_ns=settings.retransmit_unicast_delay_ns,
        retransmit_linger_ns=settings.retransmit_unicast_linger_ns,
        connection_timeout_ns=settings.publication_connection_timeout_ns,
        # Not part of the interface of plugins: a strategy without the attribute needs no proof.
        requires_proof=bool(getattr(flow_control, "requires_proof", False)),
        proof_secret=int.from_bytes(os.urandom(8), "little") >> 1,
        now_ns=context.clock.nano_time(),
        clock=context.clock,
        one_way_latency_interval_ns=settings.one_way_latency_interval_ns,
    )
