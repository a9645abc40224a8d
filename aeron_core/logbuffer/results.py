"""Negative results of offers: nothing was appended.

Source: aeronc.h, AERON_PUBLICATION_NOT_CONNECTED and the definitions after it; NO_PEER and PEER_FULL are our own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from aeron_core._native import peers, wire


class OfferResult(IntEnum):
    """Reasons for which nothing was appended, as negative integers; the `repr` has the name of the reason."""

    NOT_CONNECTED = wire.RESULT_NOT_CONNECTED  # retry later: not connected to a subscriber
    BACK_PRESSURED = wire.RESULT_BACK_PRESSURED  # retry later
    ADMIN_ACTION = wire.RESULT_ADMIN_ACTION  # retry at once
    CLOSED = wire.RESULT_CLOSED  # final: the publication is closed
    MAX_POSITION_EXCEEDED = wire.RESULT_MAX_POSITION_EXCEEDED  # final: no positions are left
    ERROR = wire.RESULT_ERROR  # internal: offers raise ValueError instead
    NO_PEER = peers.RESULT_NO_PEER  # the peer of the message is not connected
    PEER_FULL = peers.RESULT_PEER_FULL  # retry later: the peer's queue may be too full


NOT_CONNECTED: Final = OfferResult.NOT_CONNECTED
"""The publisher limit is reached, and the stream is not connected to a subscriber, or not to all the receivers that its
flow control requires, or was revoked.

This may be temporary, since subscribers come and go. Below the limit, offers are accepted without a subscriber, too.
"""

BACK_PRESSURED: Final = OfferResult.BACK_PRESSURED
"""The publisher limit is reached: subscribers, receivers or the cleaning are behind. Retry later."""

ADMIN_ACTION: Final = OfferResult.ADMIN_ACTION
"""The log is being rotated to its next term. Retry at once."""

CLOSED: Final = OfferResult.CLOSED
"""The publication is closed."""

MAX_POSITION_EXCEEDED: Final = OfferResult.MAX_POSITION_EXCEEDED
"""The range of positions is exhausted: add a new publication."""

NO_PEER: Final = OfferResult.NO_PEER
"""The destination peer of the message is not connected."""

PEER_FULL: Final = OfferResult.PEER_FULL
"""The queue of the message's destination peer may be too full for it. Retry later."""

ERROR: Final = OfferResult.ERROR
"""The message is longer than allowed, its boundaries are invalid, or a block does not continue the stream."""

#: Results by negated value: index 1 is NOT_CONNECTED, -1. A look-up takes a tenth of the time of `OfferResult(value)`.
BY_MAGNITUDE: Final = (0, *sorted(OfferResult, reverse=True))
