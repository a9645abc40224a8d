"""The lifecycle of a network publication; the states are those of `publication_lifecycle`.

Source: aeron_network_publication.c, aeron_network_publication_on_time_event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
from aeron_core.driver.conductor.stream_errors import record_stream_error
from aeron_core.driver.conductor.streams import Streams
from aeron_core.logbuffer.unblocker import first_gap
from aeron_core.uri.channel_uri import INVALID_TAG
from aeron_core.uri.defaults import TaggedPublication

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
    from aeron_core.driver.conductor.agent_proxy import Linked
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
    from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.sender.sending_publication import SendingPublication


class NetworkPublicationLifecycle(PublicationLifecycle):
    """A stream that is sent over a channel endpoint; spies subscribe to it. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        publication: SendingPublication,
        request: PublicationRequest,
        storage: StreamStorage,
        endpoint: SendEndpointEntry,
    ) -> None:
        super().__init__(context, endpoint.sender, publication, request, storage)
        self.publication = publication
        self.endpoint = endpoint
        # All frames before this position are known to be complete.
        self._gap_position = 0

    def start(self) -> None:
        """Pass the publication to the sender."""
        self.sender.proxy.send(operations.ADD_NETWORK_PUBLICATION, self.publication)

    def _visit(self) -> None:
        self.sender.proxy.send(operations.VISIT_NETWORK_PUBLICATION, self.publication)

    def _attach(self, position: SubscriberPosition, then: Linked) -> None:
        self.sender.proxy.link(operations.ADD_SPY, self.publication, position, then)

    def _detach(self, position: SubscriberPosition) -> None:
        self.sender.proxy.remove(
            operations.REMOVE_SPY, self.publication, position, then=lambda: self.free_counter_of(position)
        )

    def _consumer_position(self) -> int:
        # Written by the sender: everything before this position was sent, confirmed by a connected peer, or read by
        # spies that simulate a connection.
        return self.publication.sender_position.get_acquire()

    def _blocked_position(self) -> int:
        position = self._consumer_position()
        if not self.endpoint.transport.draws_from_log:
            return position
        # Search the log for a gap: the position that the peer has confirmed cannot show one. It also stands still
        # while the peer is slow, and it moves by whole messages, so it never reaches a gap between two fragments.
        self._gap_position = first_gap(self.log, max(position, self._gap_position), self.producer_position)
        return self._gap_position

    def _on_released(self) -> None:
        # If everything was sent, heartbeats have the EOS flag from now on, unless the URI disables it. Otherwise
        # `_drain` sets it later.
        if self.publication.sender_position.get_acquire() >= self.producer_position:
            self.publication.is_end_of_stream.set_release(1)

    def _has_unread_data(self) -> bool:
        # The readers are spies, which read this log and may be ahead of the sender. Receivers read their own images.
        return self.has_readers and self.producer_position > self._consumer_position()

    def _drain(self, now_ns: int) -> None:
        sender_position = self.publication.sender_position.get_acquire()
        if self.producer_position > sender_position:
            if self._skip_dead_claim(self._blocked_position()):
                return
            # While receivers are connected, flow control lets the rest through. Without receivers the stream waits only
            # on a medium whose peer may connect again, see `_awaits_peer`: elsewhere nothing can be delivered.
            if self.publication.has_receivers.get_acquire():
                return
            if self._awaits_peer(now_ns):
                return
        else:
            self.publication.is_end_of_stream.set_release(1)
        if self._is_read_by_all(self.producer_position):
            self.unlink_all(notify=True)
            # The sender keeps the stream: while it lingers it answers NAKs for the last frames, and sends
            # heartbeats.
            self._enter(operations.PUBLICATION_LINGER)

    def _awaits_peer(self, now_ns: int) -> bool:
        # Data that no peer has confirmed is lost with the log: wait up to the linger timeout for a disconnected
        # peer.
        if not self.endpoint.transport.draws_from_log:
            return False
        if now_ns <= self._state_change_ns + self.params.linger_timeout_ns:
            return True
        # Log the loss. The reference has no such medium and no such entry: over UDP, data without a receiver is dropped
        # at once.
        lost = self.producer_position - self.publication.sender_position.get_acquire()
        text = (
            f"stream {self.stream_id} of {self.channel} was closed with data that no peer has confirmed within "
            f"linger={self.params.linger_timeout_ns} ns: it is lost; a longer linger gives the peer more time"
        )
        record_stream_error(
            self.context,
            self,
            text,
            kind="streams closed with data that no peer has confirmed",
            lost_length=lost,
        )
        return False

    def _revoke(self) -> None:
        # Set before the state changes, as in the reference: receivers get EOS with the next heartbeat.
        self.publication.is_end_of_stream.set_release(1)
        super()._revoke()

    def _has_lingered(self, now_ns: int) -> bool:
        return self.reference_count <= 0 and (
            # The only receiver has left and needs no retransmission. In a group others may still need
            # frames.
            self.publication.has_unicast_eos.get_acquire() != 0
            or now_ns > self._state_change_ns + self.params.linger_timeout_ns
        )

    def stop(self, then: Callable[[], None]) -> None:
        """Remove the publication from the sender, release its log and counters, then call `then`."""
        # A safeguard: the transition to LINGER has unlinked all spies, with unavailable images.
        self.unlink_all(notify=False)

        def released() -> None:
            # The sender has confirmed the removal: no thread of the driver touches the log any more.
            self.close()
            # `then` comes last, because it may close the endpoint.
            then()

        self.sender.proxy.remove(operations.REMOVE_NETWORK_PUBLICATION, self.publication, then=released)


class NetworkPublications:
    """The network publications of a driver, in the order of their creation."""

    def __init__(self) -> None:
        self.lifecycles: Streams[NetworkPublicationLifecycle] = Streams()

    def find_tagged(self, tag: int) -> TaggedPublication | None:
        """Return what `session-id=tag:<tag>` copies from the publication with that entity tag; None if none has it."""
        for lifecycle in self.lifecycles:
            # Without the second comparison every publication without a tag would match the invalid one.
            if lifecycle.params.entity_tag == tag != INVALID_TAG:
                return TaggedPublication(
                    lifecycle.session_id, lifecycle.params.mtu, lifecycle.params.term_length
                )
        return None
