"""Errors of single streams: their texts in the distinct error log, the streams that had them in the event log.

Each text is an entry of the error log that is never removed, and peers choose the session ids of images: with them in
the texts, peers could fill the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aeron_core.driver import events
from aeron_core.driver.conductor.error_sink import Cause
from aeron_core.errors import ErrorCode

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext


class IdentifiedStream(Protocol):
    """A publication, an image, or the lifecycle of one."""

    @property
    def registration_id(self) -> int:
        """Id of the publication, or the correlation id of the image."""

    @property
    def session_id(self) -> int:
        """Session of the stream."""

    @property
    def stream_id(self) -> int:
        """Stream id within the channel."""


def record_stream_error(
    context: DriverContext,
    stream: IdentifiedStream,
    text: str,
    error: BaseException | None = None,
    kind: str = "",
    **details: object,
) -> None:
    """Record an error of `stream`, or the context `text` of an exception; `details` are for the event log only.

    `text` must be the same for all streams. With a `kind`, see `ErrorSink.record_variable`, it may contain what
    a client chose.
    """
    if error is not None:
        context.errors.record_exception(error, text)
    elif kind:
        context.errors.record_variable(Cause.CLIENT, ErrorCode.UNUSED, text, kind)
    else:
        context.errors.record(ErrorCode.GENERIC_ERROR, text)
    context.events.record(
        events.GENERIC_MESSAGE,
        registration_id=stream.registration_id,
        session_id=stream.session_id,
        stream_id=stream.stream_id,
        **details,
        message=text,
    )
