"""Publication with its own session and a single writer.

Not here: appending to the log (`ExclusiveAppender`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.publications.publication_base import PublicationBase
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.results import OfferResult

if TYPE_CHECKING:
    from aeron_core.bytes_like import BytesLike


class ExclusivePublication(PublicationBase):
    """A publication with its own session: one thread at a time may offer.

    `offer` returns the new position of the stream, or one of NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION
    (offer again at once), CLOSED, MAX_POSITION_EXCEEDED, and with `peer` also NO_PEER and PEER_FULL: all
    negative.
    """

    def __init__(self, params: PublicationArguments) -> None:
        appender = ExclusiveAppender(params.log, params.session_id, params.stream_id, params.limit)
        PublicationBase.__init__(self, params, appender)
        self._exclusive_appender = appender

    def append_padding(self, length: int) -> int:
        """Append padding of a header and `length` bytes, which subscribers skip; return the same as `offer`.

        Raises ValueError unless `length` is from 0 to `max_message_length`.
        """
        if self.is_closed:
            return OfferResult.CLOSED
        return self._result(self._check_result(self._exclusive_appender.append_padding(length), length))

    def offer_block(self, block: BytesLike) -> int:
        """Append whole frames, headers included, that were built for this position; return the same as `offer`.

        If the publisher limit allows an offer, raises ValueError unless there is at least one frame, each has the
        session and stream id of the publication and the term id and offset of its position, the first is a data
        frame, and all fit into the rest of the term. Raises TypeError if `block` is not a buffer.
        """
        if self.is_closed:
            return OfferResult.CLOSED
        source = AtomicBuffer(block)
        result = self._exclusive_appender.offer_block(source, 0, source.capacity)
        if result == wire.RESULT_ERROR:
            raise ValueError(
                f"block with a length of {source.capacity} (in bytes): must be whole frames of session "
                f"{self.session_id} and stream {self.stream_id} from term {self.term_id}, offset {self.term_offset} "
                "on, the first a data frame, that fit into the rest of the term"
            )
        return self._result(result)

    @property
    def term_id(self) -> int:
        """The term id of the next frame, if it fits into the current term."""
        return self._exclusive_appender.term_id

    @property
    def term_offset(self) -> int:
        """The offset of the next frame in its term, in bytes; the term length if the current term is full."""
        return self._exclusive_appender.term_offset

    def _position(self) -> int:
        return self._exclusive_appender.position()
