"""Constructor arguments of both kinds of publications, most of them from the driver's response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.park import Bell
    from aeron_core.client.owner import ResourceOwner
    from aeron_core.logbuffer.descriptor import LogBuffer


@frozen(slots=True, kw_only=True)
class PublicationArguments:
    """The arguments of a publication; `publication_state.pxd` describes the ids."""

    owner: ResourceOwner
    channel: str
    stream_id: int
    session_id: int
    registration_id: int
    original_registration_id: int
    channel_status_id: int
    position_limit_id: int
    log: LogBuffer
    bell: Bell | None = None  # of the driver's sender; None: it polls
    stream_bell: Bell | None = None  # of the subscribers of an IPC stream; None: they poll
    limit: AtomicBuffer  # at least 8 bytes: an i64, the position up to which offers succeed
