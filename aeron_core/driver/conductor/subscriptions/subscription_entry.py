"""The conductor's record of a subscription."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.spi.media import Channel
    from aeron_core.uri.parameters import SubscriptionParameters


class SubscriptionKind(Enum):
    """Kind of streams that a subscription is linked to."""

    SHARED_MEMORY = "shared memory"
    NETWORK = "network"
    SPY = "spy"


@dataclass(eq=False, kw_only=True)
class SubscriptionEntry:
    """One subscription; compared by identity. Used by the conductor only."""

    kind: SubscriptionKind
    registration_id: int
    client_id: int
    channel: str
    stream_id: int
    params: SubscriptionParameters
    endpoint: ReceiveEndpointEntry | None = None
    spied: Channel | None = None  # channel of the publications that a spy reads
    #: Whether its session id is set later, by the responses to a request.
    is_for_responses: bool = False
    #: Entries for its destinations in shared memory and its spies; they have the same registration id.
    local_destinations: list[SubscriptionEntry] = field(default_factory=list)

    @property
    def awaits_response(self) -> bool:
        """Whether it is for the responses of a session that is not known yet, so that it matches no stream."""
        return self.is_for_responses and self.params.session_id is None

    @property
    def counts_as_response(self) -> bool:
        """Whether subscriptions to the same streams must be for responses too; False once responses set its session."""
        return self.params.is_response and (self.awaits_response or not self.is_for_responses)

    def join_endpoint(self) -> None:
        """Request the streams of this subscription from its endpoint, if it has one.

        While it awaits a response, only keep the endpoint open.
        """
        if self.endpoint is None:
            return
        if self.awaits_response:
            self.endpoint.hold()
        else:
            self.endpoint.subscribe(self.stream_id, self.params.session_id)

    def leave_endpoint(self) -> None:
        """Undo `join_endpoint`; call before `params.session_id` changes."""
        if self.endpoint is None:
            return
        if self.awaits_response:
            self.endpoint.release()
        else:
            self.endpoint.unsubscribe(self.stream_id, self.params.session_id)

    def accept_responses_of(self, session_id: int) -> None:
        """Accept the responses of one session from now on."""
        # The order matters, because both calls depend on the session id: the old interest is undone with
        # the old id.
        self.leave_endpoint()
        self.params = replace(self.params, session_id=session_id)
        self.join_endpoint()

    def matches(self, stream_id: int, session_id: int) -> bool:
        """Return whether a stream, on the medium of this subscription, is one that it subscribes to."""
        return (
            # A session id of None means all sessions, but for responses it means that the session is not known yet.
            not self.awaits_response
            and self.stream_id == stream_id
            and self.params.session_id in (None, session_id)
        )
