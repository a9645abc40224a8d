"""The clients of a driver, each from its first command that adds a resource until it closes or times out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.concurrent.heartbeat_age import HeartbeatAge
from aeron_core.driver.conductor import stream_counters
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry


class Client:
    """One client and its resources; `heartbeat` holds the time of its last activity in epoch ms."""

    def __init__(self, client_id: int, heartbeat: AtomicCounter, clock: Clock) -> None:
        self.client_id = client_id
        self.heartbeat = heartbeat
        self.publications: dict[int, PublicationLifecycle] = {}
        self.subscriptions: dict[int, SubscriptionEntry] = {}
        self.counters: dict[int, int] = {}  # registration id -> counter id
        self.has_closed = False
        self._clock = clock
        self._age = HeartbeatAge()
        self.keep_alive()
        self._age_ms()

    def keep_alive(self) -> None:
        """Set the heartbeat to the present time."""
        # Epoch time, because the client stores its own clock here; both processes are on one host.
        self.heartbeat.set_release(self._clock.epoch_ms())

    def has_timed_out(self, timeout_ms: int) -> bool:
        """Return whether the heartbeat is older than the timeout."""
        return self._age_ms() > timeout_ms

    def _age_ms(self) -> int:
        return self._age.check(self.heartbeat.get_acquire(), self._clock.epoch_ms(), self._clock.nano_time())


class Clients:
    """All clients by id. Used by the conductor only."""

    def __init__(self, context: DriverContext, release: Callable[[Client], None]) -> None:
        self._context = context
        self._release = release
        self._all: dict[int, Client] = {}
        self._timeout_ms = context.settings.client_liveness_timeout_ns // 1_000_000

    def __len__(self) -> int:
        return len(self._all)

    def get(self, client_id: int) -> Client | None:
        """Return a client, None if there is none with that id."""
        return self._all.get(client_id)

    def get_or_add(self, client_id: int) -> Client:
        """Return a client; a new one is added and gets the id of its heartbeat counter.

        Raises StorageError if no counter is free for it.
        """
        client = self._all.get(client_id)
        if client is None:
            heartbeat = stream_counters.allocate_client_heartbeat(self._context.counters, client_id)
            client = self._all[client_id] = Client(client_id, heartbeat, self._context.clock)
            self._context.clients.send(responses.OnCounterReady(client_id, heartbeat.id))
        return client

    def keep_alive(self, client_id: int) -> None:
        """Handle a keepalive command, which old clients send instead of updating their heartbeat counter.

        An unknown client is ignored.
        """
        client = self._all.get(client_id)
        if client is not None:
            client.keep_alive()

    def on_close(self, client_id: int) -> None:
        """Mark a client as closed, if it is known; the next timer releases its resources."""
        client = self._all.get(client_id)
        if client is not None:
            client.has_closed = True
            # As in the reference: 0 is older than any timeout, so tools that read the counter show the client as dead.
            client.heartbeat.set_release(0)

    def on_timer(self) -> None:
        """Remove clients that have timed out or closed, and release their resources; notify those that timed out."""
        for client in list(self._all.values()):
            if client.has_closed:
                self._remove(client)
            elif client.has_timed_out(self._timeout_ms):
                self._context.system_counters.client_timeouts.get_and_add(1)
                # A client that receives its own id in this event closes itself, because its streams are gone. A
                # process that was only suspended detects its timeout by this event.
                self._context.clients.send(responses.OnClientTimeout(client.client_id))
                self._remove(client)

    def _remove(self, client: Client) -> None:
        # From here on the id is unknown: a command that adds a resource adds a new client, which owns nothing else.
        del self._all[client.client_id]
        if self._context.bells is not None:
            self._context.bells.forget(client.client_id)
        self._context.clients.send(responses.OnUnavailableCounter(client.client_id, client.heartbeat.id))
        self._context.counters.free(client.heartbeat.id)
        self._release(client)
