"""Calls what a program gave its client to call, and survives what it raises.

Not here: when (driver_listener, conductor).
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
    """One program's handlers. Called under the lock of the client's conductor."""

    def __init__(self, handlers: ClientHandlers, counters: CountersReader) -> None:
        self.handlers = handlers
        self.is_running = False
        self._counters = counters
        self._available_counter = _listed(handlers.on_available_counter)
        self._unavailable_counter = _listed(handlers.on_unavailable_counter)
        self._close = _listed(handlers.on_close)

    @property
    def available_counter_handlers(self) -> list[CounterHandler]:
        """Who wants to hear of counters that were allocated."""
        return self._available_counter

    @property
    def unavailable_counter_handlers(self) -> list[CounterHandler]:
        """Who wants to hear of counters that are freed."""
        return self._unavailable_counter

    @property
    def close_handlers(self) -> list[CloseHandler]:
        """Who wants to hear of the end of the client."""
        return self._close

    def error(self, error: Exception) -> None:
        """Tell the program of an error that no call can raise."""
        try:
            self.handlers.on_error(error)
        except Exception as another:  # whatever the program raises, the client goes on
            log_error(another)

    def available_image(self, subscription: Subscription, image: Image) -> None:
        """Tell the subscription of a new image."""
        handler = subscription.on_available_image
        if handler is not None:
            self._run(lambda: handler(image))

    def unavailable_image(self, subscription: Subscription, image: Image) -> None:
        """Tell the subscription of an image that is gone."""
        handler = subscription.on_unavailable_image
        if handler is not None:
            self._run(lambda: handler(image))

    def available_counter(self, registration_id: int, counter_id: int) -> None:
        """Tell of a counter that was allocated, by whomever."""
        for handler in tuple(self._available_counter):
            self._run_counter(handler, registration_id, counter_id)

    def unavailable_counter(self, registration_id: int, counter_id: int) -> None:
        """Tell of a counter that is freed."""
        for handler in tuple(self._unavailable_counter):
            self._run_counter(handler, registration_id, counter_id)

    def publication_error(self, frame: PublicationErrorFrame) -> None:
        """Tell of a receiver that refused a publication."""
        handler = self.handlers.on_publication_error
        if handler is not None:
            self._run(lambda: handler(frame))

    def peer_event(self, handler: Callable[..., object], what: object) -> None:
        """Tell of a peer of a channel."""
        self._run(lambda: handler(what))

    def closed(self) -> None:
        """Tell of the end of the client, once."""
        handlers, self._close = self._close, []
        for handler in handlers:
            self._run(handler)

    def _run_counter(self, handler: CounterHandler, registration_id: int, counter_id: int) -> None:
        self._run(lambda: handler(self._counters, registration_id, counter_id))

    def _run(self, call: Callable[[], object]) -> None:
        was_running, self.is_running = self.is_running, True
        try:
            call()
        except Exception as error:  # whatever the program raises, the client goes on
            self.error(error)
        finally:
            self.is_running = was_running


def _listed(handler: _H | None) -> list[_H]:
    return [] if handler is None else [handler]
