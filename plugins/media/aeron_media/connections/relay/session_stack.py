"""Session stack: one session on top of another, such as WebSocket over TLS."""

from __future__ import annotations

from typing import Final

from aeron_media.connections.relay.session import Session, SessionError

#: Bytes moved at a time from session to session: a few TLS records.
_LENGTH: Final = 1 << 16
#: Moves from session to session in one read: a TLS record can contain a single byte. Invented: 256 KiB of long records.
_MOVES_PER_READ: Final = 16


class SessionStack(Session):
    """Session of two layers: the plain side of `lower` is the wire of `upper`; see `Session`."""

    def __init__(self, lower: Session, upper: Session) -> None:
        self._lower = lower
        self._upper = upper
        # The limit protects the other connections of the thread, so the stricter one holds.
        self.reads_per_turn = min(lower.reads_per_turn, upper.reads_per_turn)
        self._is_lower_ready = False
        self._has_lower_failed = False
        # Whether the last read ended because of _MOVES_PER_READ.
        self._may_move = False

    @property
    def protocol(self) -> str:
        """See `Session.protocol`."""
        return (self._upper if self._is_lower_ready else self._lower).protocol

    @property
    def awaits_answer(self) -> bool:
        """See `Session.awaits_answer`."""
        return self._upper.awaits_answer

    @property
    def has_backlog(self) -> bool:
        """See `Session.has_backlog`."""
        return self._may_move or self._upper.has_backlog

    @property
    def held_length(self) -> int:
        """See `Session.held_length`."""
        return self._upper.held_length

    def feed(self, data: bytes) -> None:
        """See `Session.feed`."""
        self._lower.feed(data)

    def do_handshake(self) -> bool:
        """See `Session.do_handshake`."""
        if not self._is_lower_ready:
            self._is_lower_ready = self._lower.do_handshake()
        if not self._is_lower_ready:
            return False
        while not self._upper.do_handshake():
            if not self._move_up():
                return False
        return True

    def read(self, length: int) -> bytes | None:
        """See `Session.read`."""
        self._may_move = False
        for _ in range(_MOVES_PER_READ):
            data = self._upper.read(length)
            if data is not None or self._upper.has_backlog or not self._move_up():
                return data
        self._may_move = True
        return None

    def write(self, data: bytes) -> None:
        """See `Session.write`."""
        self._upper.write(data)

    def end(self) -> bool:
        """See `Session.end`; only the upper session ends."""
        return self._upper.end()

    def take_outgoing(self) -> bytes:
        """See `Session.take_outgoing`."""
        # After a failure of the lower session only its alert is sent: plain bytes can no longer be protected.
        if self._is_lower_ready and not self._has_lower_failed and (data := self._upper.take_outgoing()):
            self._lower.write(data)
        return self._lower.take_outgoing()

    def _move_up(self) -> bool:
        """Move plain bytes, or their end, from the lower session to the upper one; return False if there are none."""
        try:
            data = self._lower.read(_LENGTH)
        except SessionError:
            self._has_lower_failed = True
            raise
        if data is not None:
            self._upper.feed(data)
        return data is not None
