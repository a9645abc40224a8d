"""Links of subscriptions to streams: first the positions of all links are reserved, then the links established."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
    from aeron_core.driver.conductor.lifecycle import StreamLifecycle
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry


class SubscriberLink(NamedTuple):
    """A stream, a subscription to be linked to it, and the position that is reserved for that."""

    lifecycle: StreamLifecycle
    subscription: SubscriptionEntry
    position: SubscriberPosition

    def establish(self) -> None:
        """Link the subscription; see `StreamLifecycle.link`."""
        self.lifecycle.link(self.subscription, self.position)


def reserve_links(pairs: Iterable[tuple[StreamLifecycle, SubscriptionEntry]]) -> list[SubscriberLink]:
    """Return a link for each pair. Raises StorageError, and reserves none, if there are too few free counters."""
    # Allocating a counter is the only step that can fail: after it, the response is sent and the links established.
    links: list[SubscriberLink] = []
    try:
        for lifecycle, subscription in pairs:
            links.append(SubscriberLink(lifecycle, subscription, lifecycle.reserve(subscription)))
    except BaseException:
        for link in links:
            link.lifecycle.free_counter_of(link.position)
        raise
    return links
