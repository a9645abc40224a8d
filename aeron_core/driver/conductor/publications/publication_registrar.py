"""All publications of a driver: shared ones are found again, new ones are made, ended ones are taken down."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

from aeron_core.driver.conductor.commands.refusal import CommandRefusedError
from aeron_core.driver.conductor.publications.publication_links import PublicationLink
from aeron_core.driver.conductor.publications.publication_match import check_match
from aeron_core.driver.conductor.publications.session_ids import SessionIds
from aeron_core.errors import ErrorCode
from aeron_core.uri.parameters import FindTagged, PublicationParameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.commands.client import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.uri.channel_uri import ChannelUri

_Stream = TypeVar("_Stream", bound="PublicationLifecycle")


class PublicationRegistrar:
    """What IPC and network publications have in common; used by the conductor only."""

    def __init__(self, context: DriverContext) -> None:
        self.context = context
        #: Looks a network publication up by its entity tag.
        self.find_tagged: FindTagged | None = None
        settings = context.settings
        self._session_ids = SessionIds(
            random.getrandbits(32),
            settings.publication_reserved_session_id_low,
            settings.publication_reserved_session_id_high,
        )

    def session_id_for(
        self,
        params: PublicationParameters,
        streams: Iterable[PublicationLifecycle],
        stream_id: int,
        uri: ChannelUri,
    ) -> int:
        """Return the session id that the URI asks for, if it is free, or a new one."""
        used = {stream.session_id for stream in streams if stream.stream_id == stream_id}
        if params.session_id is None:
            return self._session_ids.take(used)
        if params.session_id in used:
            raise CommandRefusedError(
                f"existing publication has clashing session-id={params.session_id} for stream id {stream_id}: "
                f"{uri} must use another",
                ErrorCode.INVALID_CHANNEL,
            )
        return params.session_id

    def peek_session_id(self, streams: Iterable[PublicationLifecycle], stream_id: int) -> int:
        """Return a session id that a publication added next could use."""
        return self._session_ids.take({s.session_id for s in streams if s.stream_id == stream_id})

    @staticmethod
    def find_shared(
        streams: Iterable[_Stream], stream_id: int, params: PublicationParameters, uri: ChannelUri
    ) -> _Stream | None:
        """Return the publication that a client can share, after checking that it is what the URI asks for."""
        for stream in streams:
            if (
                stream.is_shareable
                and stream.stream_id == stream_id
                and stream.params.response_correlation_id == params.response_correlation_id
            ):
                check_match(stream, params, uri)
                return stream
        return None

    @staticmethod
    def use(
        client: Client, command: AddPublication | AddExclusivePublication, stream: PublicationLifecycle
    ) -> PublicationLink:
        """Count one user more."""
        stream.reference_count += 1
        link = PublicationLink(command.correlation_id, client.client_id, stream)
        client.publications[command.correlation_id] = link
        return link
