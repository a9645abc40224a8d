"""The request for a new publication: a client's command, its parsed parameters and the chosen session id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core.protocol.commands import AddExclusivePublication, AddPublication
    from aeron_core.uri.parameters import PublicationParameters


@frozen()
class PublicationRequest:
    """Inputs for the creation of a publication, IPC or network."""

    command: AddPublication | AddExclusivePublication
    params: PublicationParameters
    session_id: int
    is_exclusive: bool

    @property
    def registration_id(self) -> int:
        """Registration id of the publication: the correlation id of the command that adds it."""
        return self.command.correlation_id

    @property
    def owner(self) -> CounterOwner:
        """Owner of the publication's counters: its ids and channel, and the client of the command."""
        command = self.command
        return CounterOwner(
            command.correlation_id, self.session_id, command.stream_id, command.channel, command.client_id
        )

    @property
    def position_name(self) -> str:
        """Name of the counter of the publisher position."""
        return f"pub-pos ({'exclusive' if self.is_exclusive else 'concurrent'})"
