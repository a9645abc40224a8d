"""All publications of a driver: shared ones are found again, new ones are made, ended ones are taken down."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

from aeron_core.driver.conductor.commands.refusal import CommandRefusedError
from aeron_core.driver.conductor.publications.publication_links import PublicationLink
from aeron_core.driver.conductor.publications.publication_match import check_match
from aeron_core.driver.conductor.publications.session_ids import SessionIds
from aeron_core.errors import ErrorCode
from aeron_core.uri.parameters import FindTagged, PublicationParams

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.commands.client import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.uri.channel_uri import ChannelUri

_Lifecycle = TypeVar("_Lifecycle", bound="PublicationLifecycle")


class PublicationRegistrar:
    """What IPC and network publications have in common; used by the conductor only."""

    def __init__(self, context: DriverContext, find_tagged: FindTagged) -> None:
        """Create an empty registrar; `find_tagged` looks up a network publication by its entity tag."""
        self.context = context
        self._find_tagged = find_tagged
        settings = context.settings
        self._session_ids = SessionIds(
            random.getrandbits(32),
            settings.publication_reserved_session_id_low,
            settings.publication_reserved_session_id_high,
        )

    def session_id_for(
        self,
        params: PublicationParams,
        lifecycles: Iterable[PublicationLifecycle],
        stream_id: int,
        uri: ChannelUri,
    ) -> int:
        """Return the session id that the URI asks for, if it is free, or a new one."""
        used = {lifecycle.session_id for lifecycle in lifecycles if lifecycle.stream_id == stream_id}
        if params.session_id is None:
            return self._session_ids.take(used)
        if params.session_id in used:
            raise CommandRefusedError(
                f"existing publication has clashing session-id={params.session_id} for stream id {stream_id}: "
                f"{uri} must use another",
                ErrorCode.INVALID_CHANNEL,
            )
        return params.session_id

    def peek_session_id(self, lifecycles: Iterable[PublicationLifecycle], stream_id: int) -> int:
        """Return a session id that a publication added next could use."""
        return self._session_ids.take({s.session_id for s in lifecycles if s.stream_id == stream_id})

    @staticmethod
    def find_shared(
        lifecycles: Iterable[_Lifecycle], stream_id: int, params: PublicationParams, uri: ChannelUri
    ) -> _Lifecycle | None:
        """Return the publication that a client can share, after checking that it is what the URI asks for."""
        for lifecycle in lifecycles:
            if (
                lifecycle.is_shareable
                and lifecycle.stream_id == stream_id
                and lifecycle.params.response_correlation_id == params.response_correlation_id
            ):
                check_match(lifecycle, params, uri)
                return lifecycle
        return None

    @staticmethod
    def use(
        client: Client, command: AddPublication | AddExclusivePublication, lifecycle: PublicationLifecycle
    ) -> PublicationLink:
        """Count one user more."""
        lifecycle.reference_count += 1
        link = PublicationLink(command.correlation_id, client.client_id, lifecycle)
        client.publications[command.correlation_id] = link
        return link
