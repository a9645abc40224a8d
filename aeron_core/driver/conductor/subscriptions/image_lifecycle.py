"""The lifecycle of an image.

    ACTIVE ──no subscribers, inactive too long, ended, or revoked──► DRAINING (status messages have EOS, if not revoked)
    DRAINING ──consumed, and five status messages later; or revoked──► LINGER (unavailable) ──► DONE

On entry to LINGER the image is removed from the receiver, so that its endpoint can be closed; clients may still read
its log.
Source: aeron_publication_image.c, aeron_publication_image_on_time_event.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from aeron_core.driver import events
from aeron_core.driver._native import operations
from aeron_core.driver.conductor.lifecycle import StreamLifecycle
from aeron_core.driver.receiver.awaited_images import FIRST_DATA_TIMEOUT_NS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
    from aeron_core.driver.conductor.agent_proxy import Linked, Released
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.conductor.subscriptions.image_request import ImageRequest
    from aeron_core.driver.receiver.image_connections import ImageConnection
    from aeron_core.driver.receiver.publication_image import PublicationImage
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint
    from aeron_core.uri.untethered_timeouts import UntetheredTimeouts

#: Status messages with the EOS flag before an image lingers. Source: AERON_IMAGE_SM_EOS_MULTIPLE.
EOS_STATUS_MESSAGES: Final = 5


class ImageState(Enum):
    """States of an image; the module shows the transitions."""

    ACTIVE = 0
    DRAINING = 1
    LINGER = 2
    DONE = 3


class ImageLifecycle(StreamLifecycle):
    """An image with its subscribers. Used by the conductor only."""

    def __init__(
        self,
        image: PublicationImage,
        request: ImageRequest,
        storage: StreamStorage,
        connections: Iterable[ImageConnection],
        when_removed: Released,
    ) -> None:
        """Create the lifecycle of an image; `when_removed` is called once the receiver has released the image."""
        context = request.endpoint.context
        super().__init__(context, image.correlation_id, image.session_id, image.stream_id)
        self.image = image
        self.endpoint = request.endpoint
        self.channel = request.subscription.channel
        # A plain field: unlike that of a publication, no agent reads the state.
        self.state = ImageState.ACTIVE
        self.requests_response = request.requests_response
        self._storage = storage
        self._source = request.source
        self._is_rejoin = request.subscription.params.is_rejoin
        self._untethered = request.subscription.params.untethered
        # This list keeps the connections alive: the receiver only has borrowed references.
        self._connections = list(connections)
        self._when_removed = when_removed
        self._is_removed = False
        self._state_change_ns = context.clock.nano_time()

    @property
    def log_path(self) -> Path:
        """Path at which clients map the log."""
        return self._storage.path

    @property
    def source_identity(self) -> str:
        """Address of the sender, usually `host:port`."""
        return self._source

    @property
    def untethered_timeouts(self) -> UntetheredTimeouts:
        """Timeouts of the states of untethered subscribers."""
        return self._untethered

    @property
    def accepts_subscriptions(self) -> bool:
        """Whether a subscription may be linked now.

        False without subscribers, or if all are untethered and linger or rest: the image then drains, and the
        receiver may already route no more frames to it.
        """
        if not self.has_readers:
            return False
        return self.state is ImageState.ACTIVE or (
            self.state is ImageState.DRAINING and not self._is_drained()
        )

    def start(self) -> None:
        """Pass the image to the receiver."""
        # With this command the receiver begins to route frames of the session to the image.
        self.context.receiver.send(operations.ADD_IMAGE, self.endpoint.dispatcher, self.image)

    def visit(self) -> None:
        """Have the receiver visit the image, of which the conductor has changed something."""
        if not self._is_removed:
            self.context.receiver.send(operations.VISIT_IMAGE, self.image)

    def _attach(self, position: SubscriberPosition, then: Linked) -> None:
        self.context.receiver.link(operations.ADD_IMAGE_SUBSCRIBER, self.image, position, then)

    def _detach(self, position: SubscriberPosition) -> None:
        # The receiver released the image with all its subscribers: there is nothing to remove.
        if self._is_removed:
            self.free_counter_of(position)
            return
        self.context.receiver.remove(
            operations.REMOVE_IMAGE_SUBSCRIBER,
            self.image,
            position,
            then=lambda: self.free_counter_of(position),
        )

    def add_connection(self, connection: ImageConnection) -> None:
        """Add a connection, over which the image receives frames too; ignored once the image lingers."""
        if self.state in (ImageState.ACTIVE, ImageState.DRAINING):
            self._connections.append(connection)
            self.context.receiver.send(operations.ADD_IMAGE_CONNECTION, self.image, connection)

    def remove_connection(self, native: ReceiveChannelEndpoint) -> None:
        """Remove the connection of an endpoint that is about to be closed."""
        for connection in list(self._connections):
            # The command precedes the removal of the endpoint in the ring, so the image never uses a
            # closed socket.
            if connection.endpoint is native:
                self._connections.remove(connection)
                if not self._is_removed:
                    self.context.receiver.remove(operations.REMOVE_IMAGE_CONNECTION, self.image, connection)

    def _is_drained(self) -> bool:
        return self._is_read_by_all(self.image.rebuild_position.get_acquire())

    def on_timer(self, now_ns: int) -> bool:
        """Advance the state of the image; return whether it has ended."""
        is_revoked = self._storage.log.is_revoked()
        if self.state is ImageState.ACTIVE:
            if not is_revoked and self.has_untethered:
                # Source: aeron_publication_image_check_untethered_subscriptions.
                # A subscriber three quarters of the window behind the furthest one soon holds back the
                # sender. For images the limit depends on the subscribers alone.
                window = self.image.window_length
                self.check_untethered(max(self.reader_positions(), default=0) - window + window // 4, now_ns)
            if is_revoked:
                self.context.events.record(
                    events.IMAGE_REVOKE,
                    registration_id=self.registration_id,
                    session_id=self.session_id,
                    stream_id=self.stream_id,
                    channel=self.channel,
                )
            if is_revoked or self._has_ended(now_ns):
                self._enter(ImageState.DRAINING)
                # The sender of a revoked stream expects no status messages.
                if not is_revoked:
                    self.image.is_draining.set_release(1)
        elif self.state is ImageState.DRAINING:
            # Status messages may be lost, so the one with EOS is repeated: the sender then forgets this
            # receiver at once.
            settled_ns = EOS_STATUS_MESSAGES * self.context.settings.rcv_status_message_timeout_ns
            # A revoked stream ends without its unread data.
            if is_revoked or (self._is_drained() and now_ns > self._state_change_ns + settled_ns):
                self._linger()
        elif self._has_lingered(now_ns):
            self._enter(ImageState.DONE)
            return True
        return False

    def _has_lingered(self, now_ns: int) -> bool:
        # Wait for the confirmation of the removal: until then the receiver may write to the log.
        return self._is_removed and (
            not self.has_readers or now_ns > self._state_change_ns + self._timeout_ns(now_ns)
        )

    def _timeout_ns(self, now_ns: int) -> int:
        timeout_ns = self.context.settings.image_liveness_timeout_ns
        # While permits are scarce, an image without data ends sooner: its SETUP may be forged, and other images need
        # its permit.
        if self.image.awaits_data.get_acquire() and self.endpoint.awaited.is_contended(now_ns):
            return min(timeout_ns, FIRST_DATA_TIMEOUT_NS)
        return timeout_ns

    def _has_ended(self, now_ns: int) -> bool:
        # Acquire: pairs with the release of the receiver. It stores the time of heartbeats too, so an image is silent
        # only if its sender stopped or cannot be reached, or if the image was rejected.
        silent_since_ns = self.image.time_of_last_packet_ns.get_acquire()
        if not self.has_readers or now_ns > silent_since_ns + self._timeout_ns(now_ns):
            return True
        return bool(self.image.is_end_of_stream.get_acquire()) and (
            # The flag alone is not enough: frames before the end may still be missing and be retransmitted.
            self.image.rebuild_position.get_acquire() >= self.image.hwm_position.get_acquire()
        )

    def _linger(self) -> None:
        self._enter(ImageState.LINGER)
        self.context.receiver.remove(
            operations.REMOVE_IMAGE, self.endpoint.dispatcher, self.image, then=self._on_removed
        )
        # Without this command the session stays in its cool-down, and its frames create no new image: a
        # subscriber with rejoin=false must not get the stream again.
        if self._is_rejoin:
            self.context.receiver.send(
                operations.REMOVE_COOL_DOWN, self.endpoint.dispatcher, None, (self.session_id, self.stream_id)
            )
        # Clients release the image when they receive this. While it has readers, its log and counters stay until
        # the timeout of `_has_lingered`: a client may map the log only now, or may still store its position.
        self.notify_unavailable()

    def _on_removed(self) -> None:
        self._is_removed = True
        # The receiver released subscribers and connections with the image, not one by one.
        for item in (*self.links.values(), *self._connections):
            self.context.receiver.forget(item)
        self._when_removed()

    def _enter(self, state: ImageState) -> None:
        self.state = state
        self._state_change_ns = self.context.clock.nano_time()

    def close(self) -> None:
        """Free the counters, queue the log for deletion, and release the permit of the image.

        The receiver must have released the image.
        """
        self.context.events.record(
            events.REMOVE_IMAGE_CLEANUP,
            registration_id=self.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
            channel=self.channel,
        )
        self.unlink_all(notify=False)
        # No agent and no timeout needs the log any more; its memory is freed with the last client's
        # mapping.
        self._storage.release()
        # Last: the permit is released only when the log and the counters of the image are.
        self.context.receiver.remove(operations.RELEASE_PERMIT, self.image)
