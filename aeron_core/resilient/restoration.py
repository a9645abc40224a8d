"""Re-adding of one resource to a new plain client: its command, its destinations, and the exchange.

    due -> sent -> destinations sent -> attached
        <-  refused: tried again after a delay, while the others continue

A destination that is refused does not hold its resource back: the resource is attached, and the destination is tried
again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic

from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.publications.publication import Publication
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import ClosedError
from aeron_core.resilient.counter import ResilientCounter
from aeron_core.resilient.events import (
    CounterRestored,
    Event,
    PublicationPosition,
    PublicationRestored,
    Resource,
    RestoreFailed,
    SubscriptionRestored,
)
from aeron_core.resilient.policy import ReconnectPolicy, Retry
from aeron_core.resilient.publications import (
    ResilientExclusivePublication,
    ResilientPublication,
)
from aeron_core.resilient.resource import R, ResilientResource
from aeron_core.resilient.subscription import ResilientSubscription

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.registrations import Registration
    from aeron_core.resilient.destinations import Destined, KeptDestination

_NS_PER_S: Final = 1_000_000_000


class Restoration(Generic[R]):
    """The restoration of one resource. For the thread of the supervisor."""

    def __init__(
        self,
        resource: ResilientResource[R],
        aeron: Aeron,
        policy: ReconnectPolicy,
        emit: Callable[[Event], None],
    ) -> None:
        self.is_done = False
        self.retry = Retry(policy)
        self._resource = resource
        self._aeron = aeron
        self._emit = emit
        self._registration: Registration[R] | None = None
        # The plain resource, once the driver has answered; it is attached after its destinations.
        self._made: R | None = None
        self._is_attached = False
        self._sent: list[tuple[KeptDestination, Registration[int]]] = []

    @property
    def is_sent(self) -> bool:
        """Whether an answer of the driver is awaited."""
        return self._registration is not None or bool(self._sent)

    def advance(self, now_ns: int) -> int:
        """Do what is due, and return the work count; do nothing once the plain client is closed."""
        if self.is_done or self._aeron.is_closed:
            return 0
        try:
            return self._advance(now_ns)
        except Exception as error:  # of any kind: the other resources must continue
            self._failed(error, now_ns)
            return 1

    def _advance(self, now_ns: int) -> int:
        if self._resource.is_closed:
            return self._abandon()
        if self.is_sent:
            return self._await_destinations(now_ns) if self._registration is None else self._await(now_ns)
        if now_ns < self.retry.due_ns:
            return 0
        if self._made is not None:
            return self._send_destinations(self._made, now_ns)
        self._registration = self._resource.submit(self._aeron)
        return 1

    def _await(self, now_ns: int) -> int:
        assert self._registration is not None
        try:
            made = self._registration.poll()
        except Exception:
            self._registration = None
            raise
        if made is None:
            return 0
        self._registration, self._made = None, made
        return self._send_destinations(made, now_ns)

    def _send_destinations(self, made: R, now_ns: int) -> int:
        """Send the commands of the destinations that `made` lacks; attach it if it lacks none."""
        destinations = self._resource.destinations
        parent: Destined | None = (
            made if isinstance(made, Publication | ExclusivePublication | Subscription) else None
        )
        if destinations is None or parent is None:
            self._finish(made, now_ns)
            return 1
        failure: tuple[str, Exception] | None = None
        for destination in destinations.missing(parent):
            try:
                self._sent.append((destination, parent.add_destination_async(destination.channel)))
            except Exception as error:
                failure = destination.channel, error
        if not self._sent:
            self._finish(made, now_ns, failure)
        return 1

    def _await_destinations(self, now_ns: int) -> int:
        made = self._made
        assert isinstance(made, Publication | ExclusivePublication | Subscription)
        failure: tuple[str, Exception] | None = None
        pending = []
        for destination, registration in self._sent:
            try:
                if registration.poll() is None:
                    pending.append((destination, registration))
                    continue
            except Exception as error:
                failure = destination.channel, error
                continue
            destination.parent, destination.current_id = made, registration.registration_id
            self._remove_unless_kept(destination)
        work = len(self._sent) - len(pending)
        self._sent = pending
        if not pending:
            self._finish(self._made, now_ns, failure)
        return work

    def _remove_unless_kept(self, destination: KeptDestination) -> None:
        """Remove a destination from the driver if the program removed it by its id while it was re-added."""
        destinations, made = self._resource.destinations, self._made
        assert destinations is not None
        if destination not in destinations and isinstance(made, Publication | ExclusivePublication):
            made.remove_destination_by_id_async(destination.current_id)

    def _finish(self, made: R | None, now_ns: int, failure: tuple[str, Exception] | None = None) -> None:
        """Attach the resource unless that is done; then it is finished, or a destination is due again."""
        assert made is not None
        if not self._is_attached:
            self._attach(made, now_ns)
        if failure is None:
            self.is_done = True
        else:
            destination, error = failure
            self._failed(error, now_ns, destination)

    def _attach(self, made: R, now_ns: int) -> None:
        resource = self._resource
        make_event = _event_of(resource, made)
        try:
            is_attached = resource.attach(made)
        except ClosedError:  # of a counter: the client is lost again, which is an event of its own
            return
        if not is_attached:
            made.close()
            return
        self._is_attached = True
        self.retry.reset()
        duration_s = resource.end_gap(now_ns) / _NS_PER_S
        if make_event is not None:
            self._emit(make_event(duration_s))

    def _abandon(self) -> int:
        """Undo what was sent for a resource that is closed."""
        self.is_done = True
        if self._registration is not None and not self._registration.cancel():
            self._made = self._registration.poll()
        if self._made is not None and not self._is_attached:
            self._made.close()
        return 1

    def _failed(self, error: Exception, now_ns: int, destination: str | None = None) -> None:
        # The loss of the client is an event of its own, and a resource that the program has closed is not missing.
        if self._aeron.is_closed or self._resource.is_closed:
            return
        delay_s = self.retry.failed(now_ns)
        if self.retry.is_reported(now_ns) and isinstance(self._resource, Resource):
            self._emit(
                RestoreFailed(
                    resource=self._resource,
                    destination=destination,
                    error=error,
                    attempt=self.retry.attempts,
                    retry_in_s=delay_s,
                )
            )


def _event_of(resource: object, made: object) -> Callable[[float], Event] | None:
    """Return what makes the event of `resource` from the duration of its gap; call it after `made` is attached.

    The positions before and after are read now: once it is attached, other threads offer to `made`.
    """
    if isinstance(resource, ResilientPublication | ResilientExclusivePublication):
        assert isinstance(made, Publication | ExclusivePublication)
        before, after = _position_of(resource.plain), _position_of(made)
        return lambda duration_s: PublicationRestored(
            publication=resource, before=before, after=after, duration_s=duration_s
        )
    if isinstance(resource, ResilientSubscription):
        return lambda duration_s: SubscriptionRestored(
            subscription=resource, before=resource.lost_images(), duration_s=duration_s
        )
    if isinstance(resource, ResilientCounter):
        previous_id = resource.id
        return lambda duration_s: CounterRestored(
            counter=resource,
            value=resource.value,
            previous_id=previous_id,
            counter_id=resource.id,
            duration_s=duration_s,
        )
    return None


def _position_of(publication: Publication | ExclusivePublication) -> PublicationPosition:
    return PublicationPosition(
        session_id=publication.session_id,
        position=publication.last_position,
        initial_term_id=publication.initial_term_id,
        term_buffer_length=publication.term_buffer_length,
    )
