"""Whether a publication that exists is the one that a URI asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import positions
from aeron_core.driver.conductor.commands.refusal import CommandRefusedError
from aeron_core.errors import ErrorCode

if TYPE_CHECKING:
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_core.uri.parameters import PublicationParams


def check_match(lifecycle: PublicationLifecycle, params: PublicationParams, uri: ChannelUri) -> None:
    """Refuse a URI that explicitly asks for something else than the publication is.

    Source: aeron_driver_conductor.c, aeron_confirm_publication_match.
    """
    wanted: list[tuple[str, object, object]] = []
    if params.session_id is not None:
        wanted.append(("session-id", params.session_id, lifecycle.session_id))
    if params.has_mtu:
        wanted.append(("mtu", params.mtu, lifecycle.params.mtu))
    if params.has_term_length:
        wanted.append(("term-length", params.term_length, lifecycle.params.term_length))
    if params.start is not None:
        wanted += _start_of(lifecycle, params)
    wanted.append(("ssc", params.spies_simulate_connection, lifecycle.params.spies_simulate_connection))
    for key, asked, existing in wanted:
        if asked != existing:
            raise CommandRefusedError(
                f"existing publication has different '{key}': existing={existing} requested={asked} in {uri}",
                ErrorCode.GENERIC_ERROR,
            )


def _start_of(lifecycle: PublicationLifecycle, params: PublicationParams) -> list[tuple[str, object, object]]:
    assert params.start is not None
    log = lifecycle.stored.log
    position = log.producer_position()
    return [
        ("init-term-id", params.start.initial_term_id, log.initial_term_id),
        (
            "term-id",
            params.start.term_id,
            positions.compute_term_id(position, log.position_bits_to_shift, log.initial_term_id),
        ),
        (
            "term-offset",
            params.start.term_offset,
            positions.compute_term_offset(position, log.position_bits_to_shift),
        ),
    ]
