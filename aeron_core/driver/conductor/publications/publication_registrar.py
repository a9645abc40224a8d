"""Base of the registrars of publications: sharing between clients, and the choice of session ids."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, TypeVar

from aeron_core._native import wire
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.random_bits import random_bits
from aeron_core.errors import ErrorCode
from aeron_core.protocol import responses
from aeron_core.uri.parameters import PublicationParameters
from aeron_core.uri.session_ids import FindTagged
from aeron_core.uri.start_position import StartPosition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.settings.driver import DriverFields
    from aeron_core.uri.channel_uri import ChannelUri

_Lifecycle = TypeVar("_Lifecycle", bound="PublicationLifecycle")


class PublicationRegistrar:
    """Common part of the registrars of IPC and network publications. Used by the conductor only."""

    def __init__(self, context: DriverContext, session_ids: SessionIds, find_tagged: FindTagged) -> None:
        """Create an empty registrar; `find_tagged` looks up a network publication by its entity tag.

        `session_ids` is the one sequence of the driver.
        """
        self.context = context
        self._session_ids = session_ids
        self._find_tagged = find_tagged

    def session_id_for(
        self,
        params: PublicationParameters,
        lifecycles: Iterable[PublicationLifecycle],
        stream_id: int,
        uri: ChannelUri,
    ) -> int:
        """Return the session id in the URI, or a new one: an int32.

        Raises CommandRefusedError if one of `lifecycles` with the stream id uses the session id in the URI.
        """
        # Two streams with both ids equal would be one stream to their receivers, and its frames would
        # mix.
        used = {lifecycle.session_id for lifecycle in lifecycles if lifecycle.stream_id == stream_id}
        if params.session_id is None:
            return self._session_ids.take(used)
        if params.session_id in used:
            raise CommandRefusedError(
                f"existing publication has clashing sessionId={params.session_id} for streamId={stream_id} "
                f"channel={uri}: use another session-id, or leave it out",
                ErrorCode.INVALID_CHANNEL,
            )
        return params.session_id

    def next_session_id(self, lifecycles: Iterable[PublicationLifecycle], stream_id: int) -> int:
        """Return an int32 session id that none of `lifecycles` with the stream id uses; the next one is after it."""
        return self._session_ids.take({s.session_id for s in lifecycles if s.stream_id == stream_id})

    @staticmethod
    def find_shared(
        lifecycles: Iterable[_Lifecycle], stream_id: int, params: PublicationParameters, uri: ChannelUri
    ) -> _Lifecycle | None:
        """Return the active publication that a client can share, else None; never an exclusive one.

        Raises CommandRefusedError if `uri` contradicts it.
        """
        for lifecycle in lifecycles:
            if (
                lifecycle.stream_id == stream_id
                # A draining stream is not shared: its end position is already in the log. The client gets
                # a new stream.
                and lifecycle.is_shareable
                and lifecycle.params.response_correlation_id == params.response_correlation_id
            ):
                _check_match(lifecycle, params, uri)
                return lifecycle
        return None

    def use(
        self,
        client: Client,
        command: AddPublication | AddExclusivePublication,
        lifecycle: PublicationLifecycle,
        channel_status_id: int,
    ) -> None:
        """Add a client to the users of a publication, and send it the ready response."""
        bells = self.context.bells
        if bells is None or not bells.is_rung_by(client.client_id):
            lifecycle.note_silent_client()
        # Each add counts, also if one client adds the stream several times: it must remove each add by its id.
        lifecycle.reference_count += 1
        client.publications[command.correlation_id] = lifecycle
        is_exclusive = command.TYPE_ID == wire.COMMAND_ADD_EXCLUSIVE_PUBLICATION
        ready = responses.OnExclusivePublicationReady if is_exclusive else responses.OnPublicationReady
        self.context.clients.send(
            ready(
                command.correlation_id,
                lifecycle.registration_id,
                lifecycle.session_id,
                lifecycle.stream_id,
                lifecycle.publisher_limit_id,
                channel_status_id,
                str(lifecycle.log_path),
            )
        )


def _check_match(lifecycle: PublicationLifecycle, params: PublicationParameters, uri: ChannelUri) -> None:
    """Raise CommandRefusedError if the URI sets another session id, mtu, term length or start position.

    Source: aeron_driver_conductor.c, aeron_confirm_publication_match.
    """
    wanted: list[tuple[str, object, object]] = []
    if params.session_id is not None:
        wanted.append(("session-id", params.session_id, lifecycle.session_id))
    # Only what the URI sets is compared: a client without a preference accepts any existing stream.
    if params.has_mtu:
        wanted.append(("mtu", params.mtu, lifecycle.params.mtu))
    if params.has_term_length:
        wanted.append(("term-length", params.term_length, lifecycle.params.term_length))
    if params.start is not None:
        wanted += _start_of(lifecycle, params.start)
    for key, requested, existing in wanted:
        if requested != existing:
            raise CommandRefusedError(
                f"existing publication has different '{key}': existing={existing} requested={requested}: "
                f"channel={uri}: must be the same, or left out; for a stream of its own, add an exclusive publication",
                ErrorCode.GENERIC_ERROR,
            )


def _start_of(lifecycle: PublicationLifecycle, requested: StartPosition) -> list[tuple[str, object, object]]:
    # Compare with the start of the stream, not with its current position: the same URI stays valid after data was sent.
    initial_term_id = lifecycle.log.initial_term_id
    existing = lifecycle.params.start or StartPosition(initial_term_id, initial_term_id, 0)
    return [
        ("init-term-id", requested.initial_term_id, existing.initial_term_id),
        ("term-id", requested.term_id, existing.term_id),
        ("term-offset", requested.term_offset, existing.term_offset),
    ]


class SessionIds:
    """Session ids, int32, ascending from `start` and wrapping, without a reserved range and those in use.

    Source: aeron_driver_conductor.c, aeron_driver_conductor_speculate_next_session_id.
    """

    def __init__(self, start: int, reserved_low: int, reserved_high: int) -> None:
        self._next = _wrap(start)
        # Applications may use session ids of this range in their URIs: no automatic id is taken from it.
        self._low = reserved_low
        self._high = reserved_high

    @classmethod
    def from_settings(cls, settings: DriverFields) -> SessionIds:
        """Return a sequence with a random start and the reserved range of the settings."""
        return cls(
            random_bits(32),
            settings.publication_reserved_session_id_low,
            settings.publication_reserved_session_id_high,
        )

    def peek(self, used: Container[int]) -> int:
        """Return the id that `take` would return, without advancing the sequence."""
        candidate = self._skip_reserved(self._next)
        # The loop ends, because a driver has far fewer streams than there are ids.
        while candidate in used:
            candidate = self._skip_reserved(_wrap(candidate + 1))
        return candidate

    def take(self, used: Container[int]) -> int:
        """Return an int32 that is neither reserved nor in `used`; the next call continues after it."""
        session_id = self.peek(used)
        # A released id is not used again before the sequence wraps: receivers may still have an image or
        # a cool-down of the old stream, and would take the new stream for the old one.
        self._next = _wrap(session_id + 1)
        return session_id

    def _skip_reserved(self, candidate: int) -> int:
        return _wrap(self._high + 1) if self._low <= candidate <= self._high else candidate


def _wrap(value: int) -> int:
    # The protocol has int32 session ids: after the highest one follows the lowest.
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000
