"""Metadata and start position of the log of a new publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions, wire
from aeron_core.driver.random_bits import random_bits
from aeron_core.driver.socket_lengths import os_default_rcvbuf_length, os_default_sndbuf_length
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.uri.endpoint_parameters import EndpointParameters

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.spi.media import Channel
    from aeron_core.uri.parameters import PublicationParameters


def publication_log_params(
    context: DriverContext, request: PublicationRequest, channel: Channel | None = None
) -> LogBufferParams:
    """Return the metadata of a publication's log; the initial term id is random unless the URI sets one.

    `channel`: of the publication's endpoint; None in shared memory. As in the reference, socket buffer
    lengths and `max-resend` are 0 if the URI does not set them.
    """
    params = request.params
    # As in the reference, the lengths are those of the URI that opened the socket, 0 if it sets none.
    sockets = EndpointParameters() if channel is None else EndpointParameters.parse(channel.uri)
    # A URI with init-term-id, term-id and term-offset continues an earlier stream, such as a recording of
    # the archive.
    start = params.start
    return LogBufferParams(
        initial_term_id=start.initial_term_id if start else random_bits(32) - 0x8000_0000,
        term_id=start.term_id if start else None,
        term_offset=start.term_offset if start else 0,
        term_length=params.term_length,
        mtu_length=params.mtu,
        session_id=request.session_id,
        stream_id=request.command.stream_id,
        log_type=wire.LOG_TYPE_EXCLUSIVE_PUBLICATION
        if request.is_exclusive
        else wire.LOG_TYPE_CONCURRENT_PUBLICATION,
        correlation_id=request.registration_id,
        page_size=context.settings.file_page_size,
        publication_window_length=params.publication_window_length,
        socket_sndbuf_length=sockets.socket_sndbuf_length,
        socket_rcvbuf_length=sockets.socket_rcvbuf_length,
        os_default_socket_sndbuf_length=os_default_sndbuf_length(),
        os_default_socket_rcvbuf_length=os_default_rcvbuf_length(),
        max_resend=params.max_resend if params.has_max_resend else 0,
        entity_tag=params.entity_tag,
        response_correlation_id=params.response_correlation_id,
        linger_timeout_ns=params.linger_timeout_ns,
        untethered_window_limit_timeout_ns=params.untethered.window_limit_timeout_ns,
        untethered_linger_timeout_ns=params.untethered.linger_timeout_ns,
        untethered_resting_timeout_ns=params.untethered.resting_timeout_ns,
        group=channel is not None and channel.is_group,
        is_response=params.is_response,
        sparse=params.is_sparse,
        signal_eos=params.signal_eos,
        spies_simulate_connection=params.spies_simulate_connection,
    )


def start_position(log: LogBuffer, params: PublicationParameters) -> int:
    """Return the stream position at which a publication starts: 0, or the one that its URI sets."""
    if params.start is None:
        return 0
    # Terms are counted from the initial one, and each has 2 ** `position_bits_to_shift` bytes.
    return positions.compute_position(
        params.start.term_id,
        params.start.term_offset,
        log.position_bits_to_shift,
        params.start.initial_term_id,
    )
