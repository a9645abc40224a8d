"""What a relay carries: one end of a protocol on top of TCP, without a socket.

On one side it takes and gives the bytes of the wire, on the other the plain bytes of an agent.

Not here: who moves the bytes (`relayed_connection`).
Invariant: no method blocks or waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from aeron_core.errors import AeronError
from aeron_media.connections.relay.faults import FaultKind


class SessionError(AeronError):
    """Why a session cannot go on, in words; something for the peer may be outgoing even then."""

    def __init__(self, text: str, kind: FaultKind = FaultKind.OTHER) -> None:
        super().__init__(text)
        self.kind = kind


class Session(ABC):
    """Use by one thread. Methods raise SessionError."""

    #: Reads of the wire before other connections have their turn: fewer, where little can make much work.
    reads_per_turn = 16

    @property
    @abstractmethod
    def protocol(self) -> str:
        """What is spoken, as messages name it."""

    @property
    def awaits_answer(self) -> bool:
        """Whether the peer has still to answer that no more will be written."""
        return False

    @property
    def held_length(self) -> int:
        """Bytes of a message of the peer that was begun and must be gone on with; 0 where there is none."""
        return 0

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """Take what has come off the wire, empty where that was all."""

    @abstractmethod
    def shake(self) -> bool:
        """Go on with the handshake; return whether it is done."""

    @abstractmethod
    def read(self, length: int) -> bytes | None:
        """Return about `length` plain bytes of the peer, none at its end, None where more must come first."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Take all of `data`, plain bytes for the peer."""

    @abstractmethod
    def end(self) -> bool:
        """Say that no more will be written; return whether that could be done."""

    @abstractmethod
    def take_outgoing(self) -> bytes:
        """Return what is to be sent on the wire, empty where nothing is."""
