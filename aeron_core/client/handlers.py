"""What a program is told by its client, beside the results of its calls.

All of these run on the thread of the client's conductor, or on that of a call that waits for the driver; they
must not wait for the driver themselves: use the `_async` methods there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeron_core.errors import ClientTimeoutError, DriverTimeoutError, ErrorCode

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.image import Image
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.protocol.responses import OnPublicationError


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationErrorFrame:
    """A receiver refused one of the client's publications."""

    registration_id: int
    """Of the publication, the original one where it is shared."""
    destination_registration_id: int
    """Of the destination, -1 without one."""
    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int
    """-1 without one."""
    source: tuple[str, int] | None
    """Host and port of the receiver, None where they are not known."""
    error_code: ErrorCode
    error_message: str

    @classmethod
    def of(cls, response: OnPublicationError) -> PublicationErrorFrame:
        """Return what the driver's message says."""
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
    """Log what happened, in one line where no code is to blame: the error handler of a program that has none."""
    is_expected = isinstance(error, DriverTimeoutError | ClientTimeoutError)
    logging.getLogger("aeron_core.client").error(
        "%s: %s", type(error).__name__, error, exc_info=None if is_expected else error
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHandlers:
    """Everything that a program may want to hear of."""

    on_error: ErrorHandler = log_error
    """Errors that no call raises: the driver died, the client was given up, a handler raised."""
    on_available_image: ImageHandler | None = None
    """For subscriptions that are added without one of their own; so is the next."""
    on_unavailable_image: ImageHandler | None = None
    on_available_counter: CounterHandler | None = None
    on_unavailable_counter: CounterHandler | None = None
    on_publication_error: PublicationErrorHandler | None = None
    on_close: CloseHandler | None = None
    """Called once, when the client closes for whatever reason."""
