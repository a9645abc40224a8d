"""The sending side of a stream that nobody else sends: a session of its own, and faster for it.

Not here: how a message gets into the log (`ExclusiveAppender`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.publications.publication_base import PublicationBase
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ExclusivePublication(PublicationBase):
    """One thread at a time may offer.

    A result is the new position of the stream, or one of NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION (offer
    again at once), CLOSED, MAX_POSITION_EXCEEDED: all negative.
    """

    def __init__(self, params: PublicationArguments) -> None:
        appender = ExclusiveAppender(params.log, params.session_id, params.stream_id, params.limit)
        PublicationBase.__init__(self, params, appender)
        self._exclusive_appender = appender

    def append_padding(self, length: int) -> int:
        """Append padding of a header and `length` bytes, which receivers skip; otherwise as `offer`."""
        if self.is_closed:
            return wire.RESULT_CLOSED
        return self._check_result(self._exclusive_appender.append_padding(length), length)

    def offer_block(self, block: Buffer) -> int:
        """Append whole frames, headers included, that were made for this place in the stream, as they are.

        Raises ValueError unless they are what comes next: each with its own term id and offset, session and
        stream, data first, and all within what is left of the term.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        source = AtomicBuffer(block)
        result = self._exclusive_appender.offer_block(source, 0, source.capacity)
        if result == wire.RESULT_ERROR:
            raise ValueError(
                f"block of {source.capacity} bytes: must be whole frames of session {self.session_id} and "
                f"stream {self.stream_id} for term {self.term_id} from offset {self.term_offset} on"
            )
        return result

    @property
    def term_id(self) -> int:
        """The term that the next frame goes to, if it fits."""
        return self._exclusive_appender.term_id

    @property
    def term_offset(self) -> int:
        """Where in its term the next frame goes."""
        return self._exclusive_appender.term_offset

    def _position(self) -> int:
        return self._exclusive_appender.position()
