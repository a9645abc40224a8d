"""Offering messages, single and in batches, through the appender of either kind of publication.

Not here: state and destinations (publication_state) and the frames of a log (logbuffer).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import cython

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.integers import ReusedInt
from aeron_core.client._native import arguments
from aeron_core.client._native.payload import Payload
from aeron_core.client.channel_peers import addressed
from aeron_core.client.publications.batch_arguments import (
    boundaries_of,
    check_step,
    count_of,
    length_of,
    messages_of,
    parts_of,
)
from aeron_core.client.publications.claim import Claim
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.publications.publication_state import PublicationState
from aeron_core.client.publications.sending import send_when_accepted
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.frame_writer import check_range
from aeron_core.logbuffer.results import BY_MAGNITUDE, OfferResult

if TYPE_CHECKING:
    from aeron_core.bytes_like import BytesLike
    from aeron_core.client.channel_peers import ChannelPeers
    from aeron_core.logbuffer.appender import Appender

#: End of the message for a payload that no offer can append.
_TOO_LONG: Final = ": split it, or use a longer term-length, of which an eighth is the limit, at most 16m"
_TOO_LONG_TO_CLAIM: Final = " to be claimed; use `offer` for a longer message"


class PublicationBase(PublicationState):
    """Base of shared and exclusive publications: offers messages through the appender of the subclass."""

    def __init__(self, params: PublicationArguments, appender: Appender) -> None:
        PublicationState.__init__(self, params)
        self._appender = appender
        self._payload = Payload()
        self._results = ReusedInt()
        self._spare_claim: BufferClaim | None = None

    def offer(
        self,
        data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
        *,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append one message: any contiguous buffer, or a list or tuple of buffers to gather.

        Returns the new position of the stream in bytes, or a negative `OfferResult`, such as BACK_PRESSURED.

        With `peer`, a session id, only that peer receives the message: the result may also be NO_PEER or PEER_FULL,
        and `reserved_value` is the number of devices that the message has passed, from 0 to 255; otherwise it is any
        int64. Raises ValueError for a value out of these ranges, for a message longer than `max_message_length`, or
        for a `peer` if the medium does not distinguish peers; TypeError for `data` of another type.
        """
        if self.is_closed:
            return OfferResult.CLOSED
        if peer is not None:
            value = addressed(arguments.session_id_of(peer, "peer"), reserved_value)
            refusal = self.refusal_of(peer, length_of(data))
            return refused(refusal) if refusal < 0 else self.offer(data, reserved_value=value)
        if type(data) is bytes:
            position = self._appender.offer_bytes(data, arguments.field_of(reserved_value, "reserved_value"))
            if position > 0:
                self._bell.ring()
                return self._results.of(position)
            if position < 0:
                return self._refused(position)
        elif isinstance(data, (list, tuple)):
            return self._result(self._offer_parts(data, arguments.field_of(reserved_value, "reserved_value")))
        result = self._offer(data, arguments.field_of(reserved_value, "reserved_value"))
        return self._result(result)

    def send(
        self,
        data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
        *,
        timeout: float | None = None,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append one message as `offer` does, wait until it is accepted, and return the position after it.

        Waits while the publication is not connected, under back pressure, and while the queue of `peer` is
        full, at most `timeout` seconds; None: no limit. Then raises NotConnectedError or SendTimeoutError.
        Raises ClosedError, MaxPositionExceededError, or NotConnectedError for a `peer` that is not connected,
        at once, and the errors of `offer`. Raises ClientError if it has to wait in a handler of the client, such as
        that of an available image.
        """
        result = self.offer(data, reserved_value=reserved_value, peer=peer)
        if result >= 0:
            return result
        return send_when_accepted(
            self,
            self._owner,
            partial(self.offer, data, reserved_value=reserved_value, peer=peer),
            timeout,
            peer,
        )

    def offer_batch(  # noqa: PLR0913
        self,
        data: BytesLike,
        offsets: BytesLike,
        *,
        first: int = 0,
        count: int | None = None,
        reserved_value: int = 0,
        reserved_step: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append many messages without the GIL; return how many were appended, or the negative reason for none.

        `offsets`: int64, one more than messages; message i is data[offsets[i]:offsets[i + 1]]. If fewer are
        appended than requested, a later call continues with `first` increased and `count`, if given, reduced
        by the result. `reserved_value`, one for all messages, and `peer` are as for `offer`. With `reserved_step`, the
        value of each next message is larger by that int64; not with `peer`. Raises ValueError if `first` and `count` do
        not lie within `offsets`, if the first message is too long or its offsets are wrong, or for a step with a `peer`
        or that leads out of int64; TypeError if the items of `offsets` are neither 64-bit integers nor bytes.
        """
        if self.is_closed:
            return OfferResult.CLOSED
        boundaries = boundaries_of(offsets)
        number = arguments.int64_of(first, "first")
        wanted = count_of(boundaries, first, count)
        if peer is None:
            value = arguments.field_of(reserved_value, "reserved_value")
            if reserved_step != 0:
                check_step(value, reserved_step, wanted)
        else:
            if reserved_step != 0:
                raise ValueError(f"reserved_step={reserved_step} with peer={peer}: must be 0 with a peer")
            value = addressed(arguments.session_id_of(peer, "peer"), reserved_value)
            wanted = self.count_for(peer, boundaries, number, wanted)
            if wanted < 0:
                return refused(wanted)
        return self._result(
            self._offer_batch(AtomicBuffer(data), boundaries, number, wanted, value, reserved_step)
        )

    def offer_many(
        self,
        messages: Sequence[BytesLike | list[BytesLike] | tuple[BytesLike, ...]],
        *,
        first: int = 0,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Append many messages, from index `first` on; return how many were appended, or the negative reason for none.

        Each message is what `offer` accepts; bytes objects are fastest. If fewer are appended than requested, a later
        call continues with `first` increased by the result. `reserved_value`, one for all messages, and `peer` are as
        for `offer`. Raises the errors of `offer` for the first message, ValueError unless `first` is from 0 to the
        number of messages, and TypeError unless `messages` is a list or a tuple.
        """
        if self.is_closed:
            return OfferResult.CLOSED
        return self._result(self._offer_many(messages_of(messages, first), first, reserved_value, peer))

    def try_claim(self, length: int, *, peer: int | None = None) -> Claim:
        """Claim space for a message of `length` bytes, at most `max_payload_length`, to write it in place.

        A failed claim is false, and its `position` is the negative reason. A claim must be committed or aborted,
        as `with` does. `peer` is as for `offer`. Raises ValueError for a longer message or a negative length, or for
        a `peer` if the medium does not distinguish peers.
        """
        if self.is_closed:
            return Claim(self, wire.RESULT_CLOSED, None)
        wanted = arguments.int32_of(length, "length")
        if peer is not None:
            return self._claim_for(arguments.session_id_of(peer, "peer"), wanted)
        claim = self._take_claim()
        position = self._appender.claim(claim, wanted)
        if position >= 0:
            return Claim(self, position, claim)
        self.give_claim_back(claim)
        if position == wire.RESULT_ERROR:
            refuse_length(wanted, self._log.max_payload_length, _TOO_LONG_TO_CLAIM)
        self._limit_bell.ring()  # as in `_refused`
        return Claim(self, position, None)

    def give_claim_back(self, claim: BufferClaim) -> None:
        """Keep the buffer claim for the next message, which saves an allocation. For `Claim` and `try_claim`."""
        self._spare_claim = claim
        # Called after the commit, too.
        self._bell.ring()

    def refusal_of(self, peer: int, length: int) -> int:
        """Return 0 if a peer's queue has space for `length` bytes, or the negative NO_PEER, PEER_FULL or CLOSED.

        `peer` is a session id, `length` in bytes. Raises ValueError for a message longer than `max_message_length`, or
        if the channel's medium does not distinguish peers.
        """
        if self.is_closed:
            return wire.RESULT_CLOSED
        if length > self._log.max_message_length:
            # Without this check, the result for a message that is too long would be PEER_FULL at every retry.
            return refuse_length(length, self._log.max_message_length, _TOO_LONG)
        return self._addressable(peer).refusal(peer, length, self._position())

    def count_for(self, peer: int, boundaries: AtomicBuffer, first: int, count: int) -> int:
        """Return for how many messages of a batch a peer's queue has space, or the negative NO_PEER or PEER_FULL.

        `boundaries`: the int64 `offsets` of `offer_batch`. The batch is `count` messages from index `first` on. A
        message that is too long or has decreasing offsets is counted and ends the count: its offer then fails. Raises
        ValueError for an invalid range of the batch, or if the channel's medium does not distinguish peers.
        """
        check_range(boundaries, first, count)
        return self._addressable(peer).count_taken(
            peer, boundaries, first, count, self._position(), self._log
        )

    def _addressable(self, peer: int) -> ChannelPeers:
        channel_peers = self.channel_peers()
        if not channel_peers.are_distinguished:
            raise ValueError(
                f"peer={peer}: the medium of {self.channel} does not distinguish peers: omit peer="
            )
        return channel_peers

    def _claim_for(self, peer: int, length: int) -> Claim:
        # Checked before the peer: a wrong length must not depend on whether its queue has space.
        if not 0 <= length <= self._log.max_payload_length:
            refuse_length(length, self._log.max_payload_length, _TOO_LONG_TO_CLAIM)
        refusal = self.refusal_of(peer, length)
        if refusal != 0:
            return Claim(self, refusal, None)
        claim = self.try_claim(length)
        if claim:
            claim.reserved_value = addressed(peer, 0)
        return claim

    def _offer(self, data: BytesLike, reserved_value: int) -> int:
        length = self._payload.borrow(data)
        if length > self._log.max_message_length:
            self._payload.give_back()
            return refuse_length(length, self._log.max_message_length, _TOO_LONG)
        try:
            result = self._appender.offer(self._payload.buffer, 0, length, reserved_value)
        finally:
            self._payload.give_back()
        return result

    def _offer_parts(self, parts: Sequence[BytesLike], reserved_value: int) -> int:
        buffers = parts_of(parts)
        result = self._appender.offer_parts(buffers, reserved_value)
        return self._check_result(result, sum(len(buffer) for buffer in buffers))

    def _offer_batch(  # noqa: PLR0913 - called for each batch: no params object
        self,
        data: AtomicBuffer,
        boundaries: AtomicBuffer,
        first: int,
        count: int,
        reserved_value: int,
        step: int,
    ) -> int:
        check_range(boundaries, first, count)
        with cython.nogil:
            if step == 0:
                result = self._appender.offer_batch(data, boundaries, first, count, reserved_value)
            else:
                # Message by message: a batch of the appender has one reserved value.
                appended = 0
                result = 0
                while appended < count:
                    result = self._appender.offer_batch(
                        data, boundaries, first + appended, 1, reserved_value + appended * step
                    )
                    if result <= 0:
                        break
                    appended += 1
                if appended > 0:
                    return appended
        if result == wire.RESULT_ERROR:
            begin = boundaries.get_i64(first * 8)
            return self._check_result(result, boundaries.get_i64(first * 8 + 8) - begin)
        return result

    def _offer_many(
        self, messages: Sequence[BytesLike], first: int, reserved_value: int, peer: int | None
    ) -> int:
        """Append the messages of a tuple from index `first` on; return how many, or the negative reason for none."""
        value = arguments.field_of(reserved_value, "reserved_value")
        count = len(messages)
        appended = 0
        result = 0
        retry = True
        while first + appended < count:
            message = messages[first + appended]
            try:
                result = (
                    self._appender.offer_bytes(message, value)
                    if peer is None and type(message) is bytes
                    else 0
                )
                if result == 0:
                    result = self.offer(message, reserved_value=reserved_value, peer=peer)
            except (BufferError, TypeError, ValueError):
                if appended == 0:
                    raise
                # The call that begins with this message raises.
                break
            if result >= 0:
                appended += 1
                retry = True
            elif result != wire.RESULT_ADMIN_ACTION or not retry:
                break
            else:
                # This thread has rotated the log, or another one does: retry once, as `ConcurrentAppender.offer_batch`.
                retry = False
        return appended if appended > 0 else result

    def _take_claim(self) -> BufferClaim:
        claim = self._spare_claim
        self._spare_claim = None
        return BufferClaim() if claim is None else claim

    def _result(self, result: int) -> int:
        """Return a position or a count as an int, and a negative result as its `OfferResult`."""
        if result < 0:
            return self._refused(result)
        self._bell.ring()
        return self._results.of(result)

    def _refused(self, result: int) -> int:
        # The sender may sleep although a subscriber has just made space.
        self._limit_bell.ring()
        return refused(result)

    def _check_result(self, result: int, length: int) -> int:
        """Return `result`; raise ValueError if it is ERROR, which means that `length`, in bytes, is out of range."""
        if result == wire.RESULT_ERROR:
            refuse_length(length, self._log.max_message_length, _TOO_LONG)
        return result


def refused(result: int) -> int:
    """Return the `OfferResult` of a negative result; allocates nothing."""
    return BY_MAGNITUDE[-result]


def refuse_length(length: int, maximum: int, hint: str) -> int:
    """Raise ValueError for a message of `length` bytes, which must be from 0 to `maximum`.

    `hint` ends the text unless `length` is negative: it helps against messages that are too long.
    """
    raise ValueError(f"message of {length} bytes: must be from 0 to {maximum}{hint if length >= 0 else ''}")
