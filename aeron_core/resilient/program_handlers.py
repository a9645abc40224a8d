"""Handlers that the program gave to a resilient client, and calls of them.

Invariant: an exception of a handler stops nothing; it is passed to `on_error`, as in a plain client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeron_core.client.handlers import log_error

if TYPE_CHECKING:
    from aeron_core.client.handlers import ClientHandlers, CloseHandler, CounterHandler
    from aeron_core.resilient.events import Event, EventHandler


class ProgramHandlers:
    """All handlers of one client; called by the thread that runs its duty cycles, or that closes it."""

    def __init__(self, client: ClientHandlers, on_event: EventHandler) -> None:
        self.client: Final = client
        self.events: Final[list[EventHandler]] = [on_event]
        self.closes: Final[list[CloseHandler]] = [] if client.on_close is None else [client.on_close]
        self.available_counters: Final[list[CounterHandler]] = []
        self.unavailable_counters: Final[list[CounterHandler]] = []
        self._running = threading.local()

    @property
    def is_running(self) -> bool:
        """Whether this thread runs one of them now."""
        return getattr(self._running, "value", False)

    def emit(self, event: Event) -> None:
        """Pass an event to all handlers of events."""
        for handler in tuple(self.events):
            self.run(handler, event)

    def run_closes(self) -> None:
        """Call the handlers of the close, each once."""
        handlers, self.closes[:] = tuple(self.closes), ()
        for handler in handlers:
            self.run(handler)

    def run(self, handler: Callable[..., object], *arguments: object) -> None:
        """Call a handler; its exception goes to the error handler."""
        was_running, self._running.value = self.is_running, True
        try:
            handler(*arguments)
        except Exception as error:  # an error of the program must not stop the client
            self.report(error)
        finally:
            self._running.value = was_running

    def report(self, error: Exception) -> None:
        """Pass an error that no call can raise to the error handler; log an exception of that handler."""
        try:
            self.client.on_error(error)
        except Exception as another:
            log_error(another)
