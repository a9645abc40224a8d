"""Repeated offers until a publication accepts a message, and the errors of a message that it does not accept.

Not here: the wait between the offers (`ResourceOwner.await_until`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aeron_core.errors import (
    ClientError,
    ClosedError,
    MaxPositionExceededError,
    NotConnectedError,
    SendTimeoutError,
)
from aeron_core.logbuffer.results import OfferResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core.client.owner import ResourceOwner

#: Results after which no later offer of the same message succeeds.
_FINAL = (OfferResult.CLOSED, OfferResult.MAX_POSITION_EXCEEDED, OfferResult.NO_PEER)


class LimitedStream(Protocol):
    """The part of a publication that errors describe, beside its representation."""

    @property
    def max_possible_position(self) -> int:
        """The position, in bytes, at which the stream ends at the latest."""


def send_when_accepted(
    publication: LimitedStream,
    owner: ResourceOwner,
    offer: Callable[[], int],
    timeout: float | None,
    peer: int | None,
) -> int:
    """Call `offer` until it returns a position, and return that; raise the errors of `PublicationBase.send`.

    `timeout` is in seconds, None for no limit; `peer` is the session id that `offer` sends to, for an error.
    """
    result = 0

    def is_done() -> bool:
        nonlocal result
        result = offer()
        while result == OfferResult.ADMIN_ACTION:
            result = offer()
        return result >= 0 or result in _FINAL

    owner.await_until(is_done, timeout)
    if result >= 0:
        return result
    if result == OfferResult.CLOSED:
        owner.check_open()
    raise error_of(publication, result, timeout, peer)


def is_final(result: int) -> bool:
    """Return whether it is useless to offer again: CLOSED, MAX_POSITION_EXCEEDED or NO_PEER."""
    return result in _FINAL


def error_of(publication: LimitedStream, result: int, timeout: float | None, peer: int | None) -> ClientError:
    """Return the error for a message that was refused with `result`.

    Its text names `timeout`, in seconds, and the session id `peer` if the message was for one peer.
    """
    match result:
        case OfferResult.CLOSED:
            return ClosedError(f"{publication!r} is closed: add a new publication")
        case OfferResult.MAX_POSITION_EXCEEDED:
            return MaxPositionExceededError(
                f"{publication!r}: the stream has reached its maximum position "
                f"{publication.max_possible_position}: close the publication and add a new one"
            )
        case OfferResult.NO_PEER:
            return NotConnectedError(
                f"{publication!r}: peer={peer} is not connected: must be the session id of one of its peers"
            )
        case OfferResult.NOT_CONNECTED:
            return NotConnectedError(
                f"{publication!r}: message not accepted within {timeout} s, because the publication is not connected: "
                "start its peer for the same channel and stream, or as many receivers as its flow control requires, "
                "or use a longer timeout"
            )
        case OfferResult.PEER_FULL:
            return SendTimeoutError(
                f"{publication!r}: message not accepted within {timeout} s, because the queue of peer={peer} may lack "
                "space for it: check that the peer reads, then send again, or use a longer timeout"
            )
    return SendTimeoutError(
        f"{publication!r}: message not accepted within {timeout} s, because of back pressure: check that its "
        "subscribers read fast enough, then send again, or use a longer timeout"
    )
