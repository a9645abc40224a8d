"""Forwards the messages of one image to a publication, with their hop counts.

Not here: the choice of image and publication. Invariant: order is kept, and no message is skipped except
those that are too long for the publication, which are counted; under back pressure messages stay in the batch
and the image is not read, so that flow control stops its sender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython

from aeron_core._native import peers, wire
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.subscriptions.image import Image
from aeron_core.logbuffer.batch_buffer import BatchBuffer

if TYPE_CHECKING:
    from aeron_core.client.channel_peers import ChannelPeers

# Invented numbers: a batch of this size fits the second-level cache of current processors.
_BATCH_MESSAGES: Final = 1024
_BATCH_LENGTH: Final = 1 << 17


class Forwarder:
    """Forwarder of one image; one thread uses it."""

    def __init__(self, image: Image, publication: ExclusivePublication, channel_peers: ChannelPeers) -> None:
        self.image = image
        self.messages = 0
        self.bytes = 0
        self.too_long = 0
        self._publication = publication
        self._appender = self._publication._exclusive_appender
        self._bell = self._publication._bell
        self._limit_bell = self._publication._limit_bell
        self._peers = channel_peers
        self._batch = BatchBuffer(_BATCH_MESSAGES, _BATCH_LENGTH)
        self._next = 0

    def has_messages(self) -> bool:
        """Return whether a message is pending; if none is left, poll the image for at most 1024 messages.

        Raises ProtocolError for an invalid frame in the log of the image.
        """
        if self._next < self._batch.count:
            return True
        self._batch.clear()
        self._next = 0
        if self.image.poll_into(self._batch, _BATCH_MESSAGES) == 0 and self.image.required_length > 0:
            self._batch = BatchBuffer(_BATCH_MESSAGES, self.image.required_length)
            self.image.poll_into(self._batch, _BATCH_MESSAGES)
        return self._batch.count > 0

    def forward(self, is_addressed: bool, session_id: int) -> int:
        """Send pending messages, if `is_addressed` only to the peer with `session_id`.

        Returns 0 if none is left, or the negative result that stopped it: CLOSED, that of an offer, or NO_PEER or
        PEER_FULL for the addressed peer. Messages that are too long for the publication are dropped and counted in
        `too_long`.
        """
        if self._publication.is_closed:
            return wire.RESULT_CLOSED
        with cython.nogil:
            result = self._forward(is_addressed, session_id)
            self._bell.ring()
            if result < 0:
                # The sender may sleep although a subscriber has just made space.
                self._limit_bell.ring()
        return result

    def left(self) -> int:
        """Return how many messages were read and are not forwarded yet."""
        return self._batch.count - self._next

    def _forward(self, is_addressed: bool, session_id: int) -> int:
        while self._next < self._batch.count:
            begin = self._batch.boundaries.get_i64(self._next * 8)
            length = self._batch.boundaries.get_i64(self._next * 8 + 8) - begin
            hops = self._batch.reserved_values.get_i64(self._next * 8) & peers.RESERVED_HOPS_MASK
            result = 0
            if is_addressed:
                result = self._peers.refusal(session_id, length, self._appender.position())
                hops = peers.reserved_for(session_id, hops)
            if result == 0:
                result = self._appender.offer(self._batch.data, begin, length, hops)
            if result == wire.RESULT_ERROR:
                self.too_long += 1
            elif result == wire.RESULT_ADMIN_ACTION:
                # The log has rotated to its next term: offer again.
                continue
            elif result < 0:
                return result
            else:
                self.messages += 1
                self.bytes += length
            self._next += 1
        return 0
