"""Session: one end of a protocol on top of TCP, such as TLS, without a socket.

One side handles the bytes of the wire, the other the plain bytes of an agent.

Not here: moving the bytes (`relayed_connection`).
Invariant: no method blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from aeron_core.errors import AeronError
from aeron_media.connections.relay.faults import FaultKind


class SessionError(AeronError):
    """The session cannot continue; there may still be outgoing bytes for the peer, such as an alert.

    `text` has no values that a peer chose; `detail` may have, in printable characters.
    """

    def __init__(self, text: str, kind: FaultKind = FaultKind.OTHER, detail: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.detail = detail


class Session(ABC):
    """Base of sessions; one thread uses a session. Methods raise SessionError if the session cannot continue."""

    #: Reads of the wire per turn; a session for which a short input can cause much work has fewer.
    reads_per_turn = 16

    @property
    @abstractmethod
    def protocol(self) -> str:
        """The name of the protocol in messages."""

    @property
    def awaits_answer(self) -> bool:
        """Whether this end has ended writing, and the protocol requires an answer that has not arrived."""
        return False

    @property
    def has_backlog(self) -> bool:
        """Whether `read` returned None with received bytes left to process: read again before the next `feed`."""
        return False

    @property
    def held_length(self) -> int:
        """Bytes received of an incomplete message; 0 if there is none."""
        return 0

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """Accept bytes from the wire; empty bytes are the end of the connection."""

    @abstractmethod
    def do_handshake(self) -> bool:
        """Continue the handshake; return whether it is complete. If not, call again after `feed`."""

    @abstractmethod
    def read(self, length: int) -> bytes | None:
        """Return about `length` plain bytes of the peer, b"" at the end, None if there are none now.

        One call does a bounded amount of work, however much the peer packs into few bytes. After None, call
        again at once if `has_backlog`, otherwise after the next `feed`.
        """

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Accept all of `data`, plain bytes for the peer; `take_outgoing` returns them, possibly in several calls."""

    @abstractmethod
    def end(self) -> bool:
        """End writing; return whether the end is in the outgoing bytes. If not, call again after `read`."""

    @abstractmethod
    def take_outgoing(self) -> bytes:
        """Remove and return the bytes to be sent on the wire; b"" if there are none."""


def closed_in_handshake(session: Session) -> str:
    """Return the message for a peer that closed the connection before the handshake was complete."""
    return (
        f"the peer closed the connection during the {session.protocol} handshake: check that it uses "
        f"{session.protocol}, and its log"
    )
