"""Checks of a new subscription against those whose endpoint it is to share; each raises if they conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.conductor.endpoints.shared_endpoints import check_socket_lengths
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.protocol.commands import AddSubscription
    from aeron_core.spi.media import Channel
    from aeron_core.uri.parameters import SubscriptionParams


def check_sockets(endpoint: ReceiveEndpointEntry, channel: Channel) -> None:
    """Check that `channel` asks for the socket buffer lengths that the endpoint has."""
    if endpoint.has_destinations:
        return
    settings = endpoint.context.settings
    check_socket_lengths(
        channel,
        endpoint.channel,
        {
            "so-sndbuf": settings.socket_so_sndbuf_length,
            "so-rcvbuf": settings.socket_so_rcvbuf_length,
        },
        asks_for_defaults=True,
    )


def check_clash(
    others: Iterable[SubscriptionEntry], command: AddSubscription, params: SubscriptionParams
) -> None:
    """Check that a subscription has the options of the others with its stream id and session id."""
    for other in others:
        if other.stream_id != command.stream_id or other.params.session_id != params.session_id:
            continue
        for key, asked, existing in (
            ("reliable", params.is_reliable, other.params.is_reliable),
            ("rejoin", params.is_rejoin, other.params.is_rejoin),
            ("control-mode=response", params.is_response, other.clashes_with_others),
        ):
            if asked != existing:
                raise CommandRefusedError(
                    f"option conflicts with existing subscription: {key} is {existing} for stream id "
                    f"{command.stream_id} of {other.channel}, requested={asked} in {command.channel}",
                    ErrorCode.GENERIC_ERROR,
                )


def check_stream_count(others: Iterable[SubscriptionEntry], command: AddSubscription, limit: int) -> None:
    """Check that no more than `limit` stream ids share an endpoint, 0 for any number."""
    stream_ids = {other.stream_id for other in others}
    if limit and len(stream_ids | {command.stream_id}) > limit:
        raise CommandRefusedError(
            f"stream id {command.stream_id} of {command.channel}: {len(stream_ids)} other streams are subscribed "
            f"to, of at most {limit} to which everything goes that comes there",
            ErrorCode.GENERIC_ERROR,
        )
