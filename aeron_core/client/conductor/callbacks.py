"""Calls of a program's handlers; an exception of a handler goes to the error handler.

Not here: the events that trigger them (driver_listener, conductor).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aeron_core.client.handlers import (
    ClientHandlers,
    CloseHandler,
    CounterHandler,
    PublicationErrorFrame,
    log_error,
)

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader

_H = TypeVar("_H")


class Callbacks:
    """The handlers of one client; used under the lock of its conductor."""

    def __init__(self, handlers: ClientHandlers, counters: CountersReader) -> None:
        self.handlers = handlers
        self.is_running = False
        self._counters = counters
        self._available_counter = _listed(handlers.on_available_counter)
        self._unavailable_counter = _listed(handlers.on_unavailable_counter)
        self._close = _listed(handlers.on_close)

    @property
    def available_counter_handlers(self) -> list[CounterHandler]:
        """The handlers for allocated counters, a list that the client changes."""
        return self._available_counter

    @property
    def unavailable_counter_handlers(self) -> list[CounterHandler]:
        """The handlers for freed counters, a list that the client changes."""
        return self._unavailable_counter

    @property
    def close_handlers(self) -> list[CloseHandler]:
        """The handlers that are called when the client closes, a list that the client changes; empty afterwards."""
        return self._close

    def error(self, error: Exception) -> None:
        """Pass an error that no call can raise to the error handler; log an exception of that handler."""
        was_running, self.is_running = self.is_running, True
        try:
            self.handlers.on_error(error)
        except Exception as another:  # an error of the program must not stop the client
            log_error(another)
        finally:
            self.is_running = was_running

    def available_image(self, subscription: Subscription, image: Image) -> None:
        """Call the subscription's handler of new images, if it has one."""
        handler = subscription.on_available_image
        if handler is not None:
            self._run(lambda: handler(image))

    def unavailable_image(self, subscription: Subscription, image: Image) -> None:
        """Call the subscription's handler of removed images, if it has one."""
        handler = subscription.on_unavailable_image
        if handler is not None:
            self._run(lambda: handler(image))

    def available_counter(self, registration_id: int, counter_id: int) -> None:
        """Call the handlers for a counter that was added by this or another client."""
        for handler in tuple(self._available_counter):
            self._run_counter(handler, registration_id, counter_id)

    def unavailable_counter(self, registration_id: int, counter_id: int) -> None:
        """Call the handlers for a freed counter."""
        for handler in tuple(self._unavailable_counter):
            self._run_counter(handler, registration_id, counter_id)

    def publication_error(self, frame: PublicationErrorFrame) -> None:
        """Call the handler, if any, for an error that a receiver reported for a publication."""
        handler = self.handlers.on_publication_error
        if handler is not None:
            self._run(lambda: handler(frame))

    def peer_event(self, handler: Callable[..., object], what: object) -> None:
        """Call a handler of a peer watch with `what`, a peer or a refusal."""
        self._run(lambda: handler(what))

    def closed(self) -> None:
        """Call the close handlers, once."""
        handlers, self._close = self._close, []
        for handler in handlers:
            self._run(handler)

    def _run_counter(self, handler: CounterHandler, registration_id: int, counter_id: int) -> None:
        self._run(lambda: handler(self._counters, registration_id, counter_id))

    def _run(self, call: Callable[[], object]) -> None:
        was_running, self.is_running = self.is_running, True
        try:
            call()
        except Exception as error:  # an error of the program must not stop the client
            self.error(error)
        finally:
            self.is_running = was_running


def _listed(handler: _H | None) -> list[_H]:
    return [] if handler is None else [handler]
