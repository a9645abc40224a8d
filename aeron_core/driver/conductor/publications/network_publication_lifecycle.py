"""The life of a network publication.

Source: aeron_network_publication.c, aeron_network_publication_on_time_event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
from aeron_core.logbuffer.unblocker import first_gap

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
    from aeron_core.driver.conductor.agent_proxy import Linked
    from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
    from aeron_core.driver.sender.sending_publication import SendingPublication


class NetworkPublicationLifecycle(PublicationLifecycle):
    """A stream that is sent over a channel endpoint; spies subscribe to it here."""

    publication: SendingPublication
    endpoint: SendEndpointEntry

    #: Up to which all frames are known to be complete.
    _gap_position = 0

    def start(self) -> None:
        """Hand the publication to the sender."""
        self.context.sender.send(operations.ADD_NETWORK_PUBLICATION, self.publication)

    def _attach(self, position: SubscriberPosition, then: Linked) -> None:
        self.context.sender.link(operations.ADD_SPY, self.publication, position, then)

    def _detach(self, position: SubscriberPosition) -> None:
        self.context.sender.remove(
            operations.REMOVE_SPY, self.publication, position, then=lambda: self.free_counter_of(position)
        )

    def _consumer_position(self) -> int:
        return self.publication.sender_position.get_acquire()

    def _blocked_position(self) -> int:
        position = self._consumer_position()
        if not self.endpoint.transport.draws_from_log:
            return position
        # What its peer has confirmed may stand still for other reasons, and ends with whole messages: one of which
        # the publisher has written some fragments, and died, would never be passed.
        self._gap_position = first_gap(
            self.stored.log, max(position, self._gap_position), self.producer_position
        )
        return self._gap_position

    def _on_released(self) -> None:
        if self.publication.sender_position.get_acquire() >= self.producer_position:
            self.publication.is_end_of_stream.set_release(1)

    def _has_something_left(self) -> bool:
        return self.has_readers and self.producer_position > self._consumer_position()

    def _drain(self, now_ns: int) -> None:
        sender_position = self.publication.sender_position.get_acquire()
        if self.producer_position > sender_position:
            if self._pass_over_dead_claim(self._blocked_position()):
                return
            if self.publication.has_receivers.get_acquire():
                return
            if self._awaits_peer(now_ns):
                return
        else:
            self.publication.is_end_of_stream.set_release(1)
        if self._have_all_read(self.producer_position):
            self.unlink_all(notify=True)
            self._enter(operations.PUBLICATION_LINGER)

    def _awaits_peer(self, now_ns: int) -> bool:
        # What no peer has confirmed is lost with the log: one that is away for a moment is waited for.
        if not self.endpoint.transport.draws_from_log:
            return False
        if now_ns <= self._state_change_ns + self.params.linger_timeout_ns:
            return True
        lost = self.producer_position - self.publication.sender_position.get_acquire()
        self.context.errors.record(
            0,
            f"session {self.session_id}, stream {self.stream_id} of {self.channel} was closed with {lost} bytes that "
            f"no peer has confirmed within linger={self.params.linger_timeout_ns} ns: they are lost",
        )
        return False

    def _revoke(self) -> None:
        self.publication.is_end_of_stream.set_release(1)
        super()._revoke()

    def _has_lingered(self, now_ns: int) -> bool:
        return self.reference_count <= 0 and (
            self.publication.has_unicast_eos.get_acquire() != 0
            or now_ns > self._state_change_ns + self.params.linger_timeout_ns
        )

    def stop(self, then: Callable[[], None]) -> None:
        """Take the publication from the sender, give everything back, then call `then`."""
        self.unlink_all(notify=False)

        def released() -> None:
            self.close()
            then()

        self.context.sender.remove(operations.REMOVE_NETWORK_PUBLICATION, self.publication, then=released)
