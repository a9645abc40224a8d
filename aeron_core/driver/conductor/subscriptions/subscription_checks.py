"""Checks of a new subscription: of its window, and against those that use the same endpoint; a failed one raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.conductor.endpoints.shared_endpoints import check_socket_lengths
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.socket_lengths import os_default_rcvbuf_length
from aeron_core.errors import ErrorCode
from aeron_core.uri.endpoint_parameters import ControlMode
from aeron_core.uri.socket_buffers import SocketBuffer, check_window_fits_socket

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.protocol.commands import AddSubscription
    from aeron_core.settings.driver import DriverFields
    from aeron_core.spi.media import Channel
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_core.uri.parameters import SubscriptionParameters


def check_sockets(endpoint: ReceiveEndpointEntry, channel: Channel, params: SubscriptionParameters) -> None:
    """Raise ChannelUriError if the socket buffer lengths of `channel` differ from those of the endpoint.

    Also raises it if the medium has datagrams and the window of `channel` is longer than the receive buffer.
    Manual channels and endpoints are not checked.
    """
    # The sockets belong to the destinations, so there is none to compare with. As in the reference, the check is also
    # left out for a manual subscription that shares the endpoint of another.
    if endpoint.has_destinations or ControlMode.of(channel.uri) is ControlMode.MANUAL:
        return
    settings = endpoint.context.settings
    if endpoint.transport.has_datagrams:
        # A sender may have a whole window in flight: the kernel drops what its buffer cannot hold.
        check_window(channel, params, settings, existing=endpoint.channel.uri)
    check_socket_lengths(
        channel,
        endpoint.channel,
        {
            "so-sndbuf": settings.socket_so_sndbuf_length,
            "so-rcvbuf": settings.socket_so_rcvbuf_length,
        },
        requires_defaults=True,
    )


def check_window(
    channel: Channel,
    params: SubscriptionParameters,
    settings: DriverFields,
    *,
    existing: ChannelUri | None = None,
) -> None:
    """Raise ChannelUriError if the window is longer than the socket's receive buffer."""
    rcvbuf = SocketBuffer(
        params.endpoint.socket_rcvbuf_length,
        settings.subscription_defaults.socket_rcvbuf_length,
        existing=existing,
        os_default_length=os_default_rcvbuf_length(),
    )
    check_window_fits_socket(channel.uri, params.initial_window_length, rcvbuf)


def check_clash(
    others: Iterable[SubscriptionEntry], command: AddSubscription, params: SubscriptionParameters
) -> None:
    """Raise CommandRefusedError if one of `others` has the same stream and session ids, but another option.

    The options are `reliable`, `rejoin`, and whether the subscription is for responses.
    """
    for other in others:
        if other.stream_id != command.stream_id or other.params.session_id != params.session_id:
            continue
        # All subscriptions to a session share one image, which either repairs its gaps or not, and
        # rejoins or not.
        for key, requested, existing in (
            ("reliable", params.is_reliable, other.params.is_reliable),
            ("rejoin", params.is_rejoin, other.params.is_rejoin),
            ("isResponse", params.is_response, other.counts_as_response),
        ):
            # The first subscription wins: its images exist, and clients rely on how they behave.
            if requested != existing:
                raise CommandRefusedError(
                    f"option conflicts with existing subscription: {key}={option_text(requested)} "
                    f"existingChannel={other.channel} channel={command.channel}: must be the same for all "
                    f"subscriptions of a stream, use the existing value or another stream id",
                    ErrorCode.GENERIC_ERROR,
                )


def option_text(value: object) -> str:
    """Return the value of an option as a channel URI states it, such as `true` or `64`; None is `not specified`."""
    if value is None:
        return "not specified"
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_stream_count(others: Iterable[SubscriptionEntry], command: AddSubscription, limit: int) -> None:
    """Raise CommandRefusedError if more than `limit` stream ids would share the endpoint; 0 is no limit."""
    # Subscriptions to the same stream id share its images and cost no further copy.
    stream_ids = {other.stream_id for other in others}
    if limit and len(stream_ids | {command.stream_id}) > limit:
        raise CommandRefusedError(
            f"stream id {command.stream_id} of {command.channel}: the number of other streams that share its endpoint "
            f"is {len(stream_ids)}: must be at most {limit - 1}, because the medium delivers all messages to each "
            f"stream; use the stream id of one of them, or another endpoint",
            ErrorCode.GENERIC_ERROR,
        )
