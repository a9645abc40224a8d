"""Open publications, subscriptions and counters of a client, by registration id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core.client.conductor.log_buffers import LogBuffers
    from aeron_core.client.counters import Counter
    from aeron_core.client.publications.publication_base import PublicationBase
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription


class Resources:
    """Open resources of one client. Used under the lock of its conductor."""

    def __init__(self, log_buffers: LogBuffers) -> None:
        self.log_buffers = log_buffers
        self.publications: dict[int, PublicationBase] = {}
        self.subscriptions: dict[int, Subscription] = {}
        self.counters: dict[int, Counter] = {}

    def remove_publication(self, registration_id: int, now_ns: int) -> None:
        """Close a publication and release its log; do nothing if it was closed already."""
        publication = self.publications.pop(registration_id, None)
        if publication is not None:
            publication.mark_closed()
            self.log_buffers.release(publication.original_registration_id, now_ns)

    def remove_subscription(
        self, registration_id: int, now_ns: int
    ) -> tuple[Subscription, tuple[Image, ...]] | None:
        """Close a subscription, release its logs, and return it with its images; None if it was closed already."""
        subscription = self.subscriptions.pop(registration_id, None)
        if subscription is None:
            return None
        images = subscription.mark_closed()
        for image in images:
            self.log_buffers.release(image.correlation_id, now_ns)
        return subscription, images

    def remove_image(
        self, correlation_id: int, subscription_id: int, now_ns: int
    ) -> tuple[Subscription, Image] | None:
        """Close an image, release its log, and return its subscription and it; None if there is no such image."""
        subscription = self.subscriptions.get(subscription_id)
        image = None if subscription is None else subscription.remove_image(correlation_id)
        if subscription is None or image is None:
            return None
        self.log_buffers.release(correlation_id, now_ns)
        return subscription, image

    def remove_counter(self, registration_id: int) -> None:
        """Close a counter; do nothing if it was closed already."""
        counter = self.counters.pop(registration_id, None)
        if counter is not None:
            counter.mark_closed()

    def close_all(self, now_ns: int, on_unavailable: Callable[[Subscription, Image], None]) -> None:
        """Close everything, call `on_unavailable` for each image, and drop all logs."""
        for registration_id in list(self.publications):
            self.remove_publication(registration_id, now_ns)
        for registration_id in list(self.subscriptions):
            removed = self.remove_subscription(registration_id, now_ns)
            if removed is not None:
                subscription, images = removed
                for image in images:
                    on_unavailable(subscription, image)
        for registration_id in list(self.counters):
            self.remove_counter(registration_id)
        self.log_buffers.clear()
