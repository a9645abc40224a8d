"""The sending side of a stream that nobody else sends: a session of its own, and faster for it.

Not here: how a message gets into the log (`ExclusiveAppender`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cython

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client._native import arguments
from aeron_core.client.channel_peers import addressed
from aeron_core.client.publications.batch_arguments import length_of, parts_of
from aeron_core.client.publications.claim import Claim
from aeron_core.client.publications.publication_base import PublicationBase, refuse_length
from aeron_core.client.publications.publication_params import PublicationParams
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ExclusivePublication(PublicationBase):
    """One thread at a time may offer.

    A result is the new position of the stream, or one of NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION (offer
    again at once), CLOSED, MAX_POSITION_EXCEEDED: all negative.
    """

    def __init__(self, params: PublicationParams) -> None:
        PublicationBase.__init__(self, params)
        self._appender = ExclusiveAppender(params.log, params.session_id, params.stream_id, params.limit)

    def offer(
        self,
        data: Buffer | list[Buffer] | tuple[Buffer, ...],
        *,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append one message: any contiguous buffer, or a list or tuple of them that are put together.

        `peer` is the session of who alone shall get it; then the result may be NO_PEER or PEER_FULL, too, and
        `reserved_value` is the hops that the message has behind it. Raises ValueError for a message longer than
        `max_message_length`, or where the channel's peers cannot be told apart.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        if peer is not None:
            value = addressed(arguments.int32_of(peer, "peer"), reserved_value)
            return self.refusal_of(peer, length_of(data)) or self.offer(data, reserved_value=value)
        if type(data) is bytes:
            position = self._appender.offer_bytes(data, arguments.field_of(reserved_value, "reserved_value"))
            if position > 0:
                return self._results.of(position)
        elif isinstance(data, (list, tuple)):
            return self._offer_parts(data, arguments.field_of(reserved_value, "reserved_value"))
        return self._results.of(self._offer(data, arguments.field_of(reserved_value, "reserved_value")))

    def try_claim(self, length: int, *, peer: int | None = None) -> Claim:
        """Claim room for a message of `length` bytes, at most `max_payload_length`, to be written in place.

        The claim is false when there is no room: its `position` says why. It must be committed or aborted, as
        `with` does. `peer` is as for `offer`. Raises ValueError for a longer message.
        """
        if self.is_closed:
            return Claim(self, wire.RESULT_CLOSED, None)
        if peer is not None:
            return self._claim_for(arguments.int32_of(peer, "peer"), length)
        wanted = arguments.int32_of(length, "length")
        claim = self._take_claim()
        position = self._appender.claim(claim, wanted)
        if position >= 0:
            return Claim(self, position, claim)
        self.give_claim_back(claim)
        if position == wire.RESULT_ERROR:
            refuse_length(length, self._log.max_payload_length, " to be claimed")
        return Claim(self, position, None)

    def _claim_for(self, peer: int, length: int) -> Claim:
        refusal = self.refusal_of(peer, length)
        if refusal != 0:
            return Claim(self, refusal, None)
        claim = self.try_claim(length)
        if claim:
            claim.reserved_value = addressed(peer, 0)
        return claim

    def append_padding(self, length: int) -> int:
        """Append padding of a header and `length` bytes, which receivers skip; otherwise as `offer`."""
        if self.is_closed:
            return wire.RESULT_CLOSED
        return self._check_result(self._appender.append_padding(length), length)

    def offer_block(self, block: Buffer) -> int:
        """Append whole frames, headers included, that were made for this place in the stream, as they are.

        Raises ValueError unless they are what comes next: each with its own term id and offset, session and
        stream, data first, and all within what is left of the term.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        source = AtomicBuffer(block)
        result = self._appender.offer_block(source, 0, source.capacity)
        if result == wire.RESULT_ERROR:
            raise ValueError(
                f"block of {source.capacity} bytes: must be whole frames of session {self.session_id} and "
                f"stream {self.stream_id} for term {self.term_id} from offset {self.term_offset} on"
            )
        return result

    @property
    def term_id(self) -> int:
        """The term that the next frame goes to, if it fits."""
        return self._appender.term_id

    @property
    def term_offset(self) -> int:
        """Where in its term the next frame goes."""
        return self._appender.term_offset

    def _position(self) -> int:
        return self._appender.position()

    def _offer(self, data: Buffer, reserved_value: int) -> int:
        length = self._payload.borrow(data)
        if length > self._log.max_message_length:
            self._payload.give_back()
            return refuse_length(length, self._log.max_message_length, "")
        try:
            result = self._appender.offer(self._payload.buffer, 0, length, reserved_value)
        finally:
            self._payload.give_back()
        return result

    def _offer_parts(self, parts: Sequence[Buffer], reserved_value: int) -> int:
        buffers = parts_of(parts)
        result = self._appender.offer_parts(buffers, reserved_value)
        return self._check_result(result, sum(len(buffer) for buffer in buffers))

    def _offer_batch(
        self, data: AtomicBuffer, boundaries: AtomicBuffer, first: int, count: int, reserved_value: int
    ) -> int:
        with cython.nogil:
            result = self._appender.offer_batch(data, boundaries, first, count, reserved_value)
        if result == wire.RESULT_ERROR:
            begin = boundaries.get_i64(first * 8)
            return self._check_result(result, boundaries.get_i64(first * 8 + 8) - begin)
        return result
