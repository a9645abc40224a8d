"""What one client has, and whether it is alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core._native.counter import Counter
    from aeron_core.driver.conductor.publications.publication_links import PublicationLink
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry


class Client:
    """One client of the driver; its heartbeat counter says when it was last seen, in epoch ms."""

    def __init__(self, client_id: int, heartbeat: Counter) -> None:
        self.client_id = client_id
        self.heartbeat = heartbeat
        self.publications: dict[int, PublicationLink] = {}
        self.subscriptions: dict[int, SubscriptionEntry] = {}
        self.counters: dict[int, int] = {}  # registration id -> counter id
        self.has_closed = False

    def keep_alive(self, now_ms: int) -> None:
        """Note that the client was heard of."""
        self.heartbeat.set_release(now_ms)

    def has_timed_out(self, now_ms: int, timeout_ms: int) -> bool:
        """Return whether the client was silent for too long."""
        return now_ms > self.heartbeat.get_acquire() + timeout_ms
