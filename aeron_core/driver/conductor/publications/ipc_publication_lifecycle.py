"""The lifecycle of an IPC publication; the states are those of `publication_lifecycle`.

Source: aeron_ipc_publication.c, aeron_ipc_publication_on_time_event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle

if TYPE_CHECKING:
    from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
    from aeron_core.driver.conductor.agent_proxy import Linked
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_request import PublicationRequest
    from aeron_core.driver.conductor.stream_storage import StreamStorage
    from aeron_core.driver.sender.ipc_publication import IpcPublication


class IpcPublicationLifecycle(PublicationLifecycle):
    """An IPC stream, which subscribers read from the log of its publishers. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        publication: IpcPublication,
        request: PublicationRequest,
        storage: StreamStorage,
    ) -> None:
        super().__init__(context, context.senders.first, publication, request, storage)
        self.publication = publication

    def start(self) -> None:
        """Pass the publication to the sender."""
        self.sender.proxy.send(operations.ADD_IPC_PUBLICATION, self.publication)

    def _visit(self) -> None:
        self.sender.proxy.send(operations.VISIT_IPC_PUBLICATION, self.publication)

    def _attach(self, position: SubscriberPosition, then: Linked) -> None:
        self.sender.proxy.link(operations.ADD_IPC_SUBSCRIBER, self.publication, position, then)

    def _detach(self, position: SubscriberPosition) -> None:
        self.sender.proxy.remove(
            operations.REMOVE_IPC_SUBSCRIBER,
            self.publication,
            position,
            then=lambda: self.free_counter_of(position),
        )

    def _consumer_position(self) -> int:
        # Written by the sender, which takes it from the furthest subscriber.
        return self.publication.consumer_position.get_acquire()

    def _has_unread_data(self) -> bool:
        return not self._is_read_by_all(self.producer_position)

    def _drain(self, now_ns: int) -> None:
        if self._is_read_by_all(self.producer_position):
            self._enter(operations.PUBLICATION_LINGER)
            self.notify_unavailable()
        elif not self._joining:
            # The furthest subscriber reaches a gap first. If the frame at its position is complete, the
            # subscriber is only slow, and nothing is done.
            self._skip_dead_claim(max(self.reader_positions()))

    def _has_lingered(self, now_ns: int) -> bool:
        # IPC has no linger timeout: subscribers map the log itself, so nothing is retransmitted. Their mappings
        # stay valid when the file is deleted.
        return self.reference_count <= 0

    def stop(self) -> None:
        """Remove the publication from the sender, then release its log and counters."""
        # Subscribers are removed first: the ring keeps the order, so the sender drops them before the stream.
        self.unlink_all(notify=False)
        self.sender.proxy.remove(operations.REMOVE_IPC_PUBLICATION, self.publication, then=self.close)
