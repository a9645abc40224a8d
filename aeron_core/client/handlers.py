"""Handlers: callbacks of a program for events of its client.

They run on the thread that runs the client's conductor at that time: its own thread, or that of a call of
`Aeron.do_work`, of a method that waits, or of one that closes something. They must not wait for the driver
themselves: use the `_async` methods in them, `offer` in place of `send`, and `is_connected` in place of
`await_connected`; call other methods that wait, such as `Registration.result` or `Image.reject`, after the handler has
returned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from aeron_core.errors import ClientTimeoutError, DriverTimeoutError, ErrorCode
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.protocol.responses import OnPublicationError


@frozen(slots=True, kw_only=True)
class PublicationErrorFrame:
    """Error that a receiver reported for one of the client's publications, such as a rejection."""

    registration_id: int
    """The publication's `original_registration_id`, the same for all publications that share the stream."""
    destination_registration_id: int
    """Registration id of the destination; -1 if there is none."""
    session_id: int  # of the publication
    stream_id: int  # of the publication
    receiver_id: int  # chosen by the receiver
    group_tag: int
    """-1 if the receiver has none."""
    source: tuple[str, int] | None
    """Host and port of the receiver, 127.0.0.1 and 0 for IPC; None if unknown."""
    error_code: ErrorCode  # reason of the receiver
    error_message: str  # text of the receiver

    @classmethod
    def of(cls, response: OnPublicationError) -> PublicationErrorFrame:
        """Return the error in a response of the driver; an unknown code becomes UNKNOWN_CODE_VALUE."""
        return cls(
            registration_id=response.registration_id,
            destination_registration_id=response.destination_registration_id,
            session_id=response.session_id,
            stream_id=response.stream_id,
            receiver_id=response.receiver_id,
            group_tag=response.group_tag,
            source=response.source,
            error_code=ErrorCode.of(response.error_code),
            error_message=response.error_message,
        )


ErrorHandler = Callable[[Exception], object]
ImageHandler = Callable[["Image"], object]
# Called with the counters, the registration id and the id of the counter.
CounterHandler = Callable[["CountersReader", int, int], object]
PublicationErrorHandler = Callable[[PublicationErrorFrame], object]
CloseHandler = Callable[[], object]


def log_error(error: Exception) -> None:
    """Log an error, without a traceback for DriverTimeoutError and ClientTimeoutError; the default error handler."""
    is_expected = isinstance(error, DriverTimeoutError | ClientTimeoutError)
    logging.getLogger("aeron_core.client").error(
        "%s: %s", type(error).__name__, error, exc_info=None if is_expected else error
    )


@frozen(slots=True, kw_only=True)
class ClientHandlers:
    """All handlers of a client; each is optional."""

    on_error: ErrorHandler = log_error
    """Called with errors that no call can raise, for example if the driver died or a handler raised."""
    on_available_image: ImageHandler | None = None
    """Default of subscriptions that are added without this handler; `on_unavailable_image` likewise."""
    on_unavailable_image: ImageHandler | None = None  # called with each image that became unavailable
    on_available_counter: CounterHandler | None = None
    """Called with the counters reader, registration id and counter id of each new counter."""
    on_unavailable_counter: CounterHandler | None = None  # likewise, for each freed counter
    on_publication_error: PublicationErrorHandler | None = None
    """Called with each rejection of a publication by a receiver."""
    on_close: CloseHandler | None = None
    """Called once, when the client closes for any reason."""
