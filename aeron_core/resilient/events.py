"""Events of a resilient client: what was lost, when it is back, and where the gaps of the streams are.

Disconnected      the driver or the client was lost: offers return NOT_CONNECTED, polls return 0
ReconnectFailed   an attempt to connect has failed; reported once in `event_interval_s`
Reconnected       a driver is there; re-adding begins
PublicationRestored, SubscriptionRestored, CounterRestored
                  one resource is re-added
RestoreFailed     one resource cannot be re-added yet; the others continue
Restored          everything is re-added
ImageRestored     a stream has an image again, which may be long after that of its subscription
GaveUp            the limit of attempts is reached, and the client is closed
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from aeron_core.frozen import frozen
from aeron_core.resilient.counter import ResilientCounter
from aeron_core.resilient.publications import ResilientExclusivePublication, ResilientPublication
from aeron_core.resilient.subscription import ImagePosition, ResilientSubscription

Resource = ResilientPublication | ResilientExclusivePublication | ResilientSubscription | ResilientCounter


@frozen(slots=True, kw_only=True)
class Disconnected:
    """The driver or this client was lost."""

    cause: Exception
    """Why: DriverTimeoutError if the driver has ended or was replaced, ClientTimeoutError if this process was stopped
    and the driver timed it out, or another error that closed the client."""
    driver_identity: str
    """The driver that was lost, as `Aeron.driver_identity`."""
    client_id: int
    """The id of this client in that driver."""
    silent_s: float
    """Seconds since the driver was last seen alive by a running client, when the gap began."""


@frozen(slots=True, kw_only=True)
class ReconnectFailed:
    """An attempt to connect to a driver has failed."""

    error: Exception
    """For example DriverTimeoutError, or CncIncompatibleError for a driver of another version."""
    attempt: int
    """Failed attempts since the last connection, this one included; those between two events are not reported."""
    retry_in_s: float
    """Seconds until the next attempt."""
    elapsed_s: float
    """Seconds since the gap began."""


@frozen(slots=True, kw_only=True)
class Reconnected:
    """The client is connected to a driver again, and begins to re-add everything."""

    previous_driver_identity: str  # the driver that was lost
    driver_identity: str
    """Equal to the previous one if the same driver process runs on: then only the client was lost."""
    client_id: int
    """The new id of this client in the driver."""
    attempt: int
    """Number of this attempt, 1 for the first."""
    duration_s: float
    """Seconds since the gap began."""


@frozen(slots=True, kw_only=True)
class PublicationPosition:
    """State of a publication's stream; positions of two can be compared only if all other fields are equal."""

    session_id: int  # of the publication
    position: int
    """Stream position in bytes, up to which the program has offered."""
    initial_term_id: int  # the term id at which the stream began
    term_buffer_length: int  # length of a term in bytes


@frozen(slots=True, kw_only=True)
class PublicationRestored:
    """A publication is re-added; its stream is another one, which begins at `after`."""

    publication: ResilientPublication | ResilientExclusivePublication  # the publication, usable as before
    before: PublicationPosition
    """The lost stream, with the last position that was offered: messages up to it may not have been delivered."""
    after: PublicationPosition
    """The new stream, with its first position. If other clients share the publication, they may have offered before."""
    duration_s: float
    """Seconds without the publication."""


@frozen(slots=True, kw_only=True)
class SubscriptionRestored:
    """A subscription is re-added; `ImageRestored` follows for each of its images."""

    subscription: ResilientSubscription  # the subscription, usable as before
    before: tuple[ImagePosition, ...]
    """The images that were lost, with the last positions that were polled."""
    duration_s: float
    """Seconds without the subscription."""


@frozen(slots=True, kw_only=True)
class ImageRestored:
    """A subscription that was lost has an image again; at most as many without `before` as images were lost."""

    subscription: ResilientSubscription  # the subscription of the image
    before: ImagePosition | None
    """The lost image of the same session, with the last position that was polled; None for another session."""
    after: ImagePosition
    """The new image, with the position at which it begins."""
    duration_s: float
    """Seconds since the gap began."""

    @property
    def gap_length(self) -> int | None:
        """Bytes of the stream that were not polled; None if the stream is another one, or the position is unknown."""
        before, after = self.before, self.after
        if before is None or before.position is None or after.position is None:
            return None
        is_later = before.is_of_the_same_stream(after) and after.position >= before.position
        return after.position - before.position if is_later else None


@frozen(slots=True, kw_only=True)
class CounterRestored:
    """A counter is re-added and continues with its value."""

    counter: ResilientCounter  # the counter, usable as before
    value: int  # the value that it continues with
    previous_id: int
    """Its id in the lost driver."""
    counter_id: int
    """Its id now."""
    duration_s: float
    """Seconds without the counter."""


@frozen(slots=True, kw_only=True)
class RestoreFailed:
    """A resource, or one of its destinations, cannot be re-added yet; it is tried again."""

    resource: Resource  # what is missing in the driver
    destination: str | None
    """The channel of the destination; None if it is the resource."""
    error: Exception  # of the last attempt
    attempt: int
    """Failed attempts since the last connection, this one included; those between two events are not reported."""
    retry_in_s: float
    """Seconds until the next attempt."""


@frozen(slots=True, kw_only=True)
class Restored:
    """Everything that the program has added is re-added."""

    duration_s: float
    """Seconds since the gap began."""


@frozen(slots=True, kw_only=True)
class GaveUp:
    """The limit of the policy is reached; the client is closed, and its calls raise ClosedError from `error`."""

    error: Exception  # of the last attempt
    attempts: int  # failed attempts in a row
    elapsed_s: float
    """Seconds since the gap began."""


Event: TypeAlias = (
    Disconnected
    | ReconnectFailed
    | Reconnected
    | PublicationRestored
    | SubscriptionRestored
    | ImageRestored
    | CounterRestored
    | RestoreFailed
    | Restored
    | GaveUp
)
"""Any event: a union of the classes of events."""
EventHandler = Callable[[Event], object]

_WARNINGS = (Disconnected, ReconnectFailed, RestoreFailed)


def log_event(event: Event) -> None:
    """Log an event to the logger `aeron_core.resilient`; the default event handler."""
    level = logging.INFO
    if isinstance(event, GaveUp):
        level = logging.ERROR
    elif isinstance(event, _WARNINGS):
        level = logging.WARNING
    logging.getLogger("aeron_core.resilient").log(level, "%s", event)
