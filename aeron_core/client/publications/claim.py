"""Claim of space in the log of a publication, for a message that is written in place.

    with publication.try_claim(5) as claim:
        if claim:                          # False: claim.position has the reason, such as BACK_PRESSURED
            claim.buffer[:] = b"world"

The block commits the message, or aborts it if an exception leaves the block. A failed claim can be used as a
context manager, too, and does nothing; its `buffer` raises NoClaimError, so that no message is lost unnoticed.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, Protocol

from aeron_core._native import peers, wire
from aeron_core.errors import NoClaimError
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.results import BY_MAGNITUDE

_REASONS: Final = {
    wire.RESULT_NOT_CONNECTED: "the publication is not connected (NOT_CONNECTED)",
    wire.RESULT_BACK_PRESSURED: "the publisher limit is reached (BACK_PRESSURED)",
    wire.RESULT_ADMIN_ACTION: "the log is rotating to its next term (ADMIN_ACTION)",
    wire.RESULT_CLOSED: "the publication is closed (CLOSED); add a new one",
    wire.RESULT_MAX_POSITION_EXCEEDED: (
        "the stream has reached its maximum position (MAX_POSITION_EXCEEDED); close the publication and add a new one"
    ),
    peers.RESULT_NO_PEER: "the peer is not connected (NO_PEER)",
    peers.RESULT_PEER_FULL: "the peer's queue is full (PEER_FULL)",
}


class ClaimOwner(Protocol):
    """The part of a publication that a claim uses."""

    def give_claim_back(self, claim: BufferClaim) -> None:
        """Keep `claim` for the next message."""


class Claim:
    """Claimed space for one message; true while it is open. One thread uses it.

    If it is not open, `commit` and all properties but `position` raise NoClaimError.
    """

    def __init__(self, publication: ClaimOwner, position: int, claim: BufferClaim | None) -> None:
        self._position = position
        self._publication = publication
        self._claim = claim

    @property
    def position(self) -> int:
        """The stream position in bytes after the message, or the negative `OfferResult` with which the claim failed."""
        return self._position if self._position >= 0 else BY_MAGNITUDE[-self._position]

    @property
    def buffer(self) -> memoryview:
        """The payload, `length` writable bytes, which must not be written after `commit` or `abort`."""
        return self._open().buffer

    @property
    def length(self) -> int:
        """Length of the payload in bytes."""
        return self._open().length

    @property
    def reserved_value(self) -> int:
        """The reserved value of the header, an int64 for use by the application; 0 by default."""
        return self._open().reserved_value()

    @reserved_value.setter
    def reserved_value(self, value: int) -> None:
        self._open().set_reserved_value(value)

    @property
    def flags(self) -> int:
        """The flags of the frame, one byte; by default 0xC0, those of a whole message."""
        return self._open().flags()

    @flags.setter
    def flags(self, value: int) -> None:
        self._open().set_flags(value)

    def commit(self) -> None:
        """Publish the message to readers."""
        self._open().commit()
        self._give_back()

    def abort(self) -> None:
        """Turn the claimed space into padding; does nothing if the claim is not open."""
        if self._claim is not None:
            self._claim.abort()
            self._give_back()

    def __bool__(self) -> bool:
        return self._claim is not None

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif self._claim is not None:
            self.commit()

    def __repr__(self) -> str:
        return f"Claim(position={self.position!r}, {'open' if self else 'not open'})"

    def _open(self) -> BufferClaim:
        if self._claim is None:
            reason = _REASONS.get(self._position, "it was committed or aborted")
            raise NoClaimError(f"the claim is not open: {reason}: claim space again with try_claim")
        return self._claim

    def _give_back(self) -> None:
        if self._claim is not None:
            self._publication.give_claim_back(self._claim)
            self._claim = None
