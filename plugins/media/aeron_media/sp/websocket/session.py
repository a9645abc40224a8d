"""WebSocket session of SP: WebSocket messages on the wire, the TCP mapping of SP for the agent.

    received from the peer           answer
    text message                     close 1003
    message that is too long         close 1009
    frames with little content       close 1008 if there are too many, see `frames`
    violation of RFC 6455            close 1002, or 1007 for invalid UTF-8
    ping                             pong; only the last of several waiting pings is answered
    close                            close

Not here: the handshake (`handshake`), and the framing for the agent (`messages`).
Invariant: at most one incomplete message of the peer is held, and only its received bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Event, Ping
from wsproto.extensions import Extension
from wsproto.frame_protocol import CloseReason, FrameDecoder, FrameProtocol, Opcode, RsvBits

from aeron_media.connections.relay.session import Session, SessionError, closed_in_handshake
from aeron_media.sp.peer import greeting_of
from aeron_media.sp.websocket.frames import FrameBudget
from aeron_media.sp.websocket.handshake import WsClientHandshake, WsHandshake, WsServerHandshake
from aeron_media.sp.websocket.messages import LENGTH, MessageSplitter
from aeron_media.sp.websocket.params import PROTOCOLS, WsParams

#: If the listening end closes a connection this early without having sent a message, it has refused the peer. Invented:
#: a connection of SP that lasts longer has been accepted.
REFUSAL_LIMIT_S: Final = 1.0
REFUSAL: Final = "this endpoint takes no peer now"
#: WebSocket events of one read, and fragments of one `take_outgoing`: each costs about 10 µs, even if it contains no
#: bytes, so that a step takes less than 1 ms. Invented.
EVENTS_PER_STEP: Final = 64
#: Codes of RFC 6455 that end a connection after an error.
_USUAL_CODES: Final = (1002, 1003, 1006, 1007, 1008, 1009, 1010, 1011)
_NORMAL_CODES: Final = (CloseReason.NORMAL_CLOSURE, CloseReason.GOING_AWAY, CloseReason.NO_STATUS_RCVD)


class WsSession(Session):
    """WebSocket session, see `Session`; `now` returns seconds of a monotonic clock."""

    protocol = "WebSocket"
    # One read of the wire may contain ten thousand empty messages, which `read` processes step by step.
    reads_per_turn = 1

    def __init__(
        self, params: WsParams, *, server_side: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._budget = FrameBudget(now)
        self._limit = _FrameLimit(params.max_message_length, self._budget)
        self._params = params
        self._is_server = server_side
        handshake = WsServerHandshake if server_side else WsClientHandshake
        self._handshake: WsHandshake = handshake(params, [self._limit])
        self._now = now
        self._handshake_time = 0.0
        self._connection: Connection | None = None
        # Bytes received during the handshake.
        self._fed = b""
        self._wire_has_ended = False
        self._is_over = False
        # Whether the last read ended because of EVENTS_PER_STEP.
        self._has_events = False
        # Texts, not an exception: its traceback would keep the frames of all callers, and their sockets, alive.
        self._fault = self._detail = ""
        self._plain: list[bytes | bytearray] = [greeting_of(PROTOCOLS[params.subprotocol])]
        self._plain_length = len(self._plain[0])
        # The received part of an incomplete message.
        self._message = bytearray()
        self._splitter = MessageSplitter()
        self._has_sent_message = False
        self._outgoing: list[bytes] = []
        # Only the last ping is answered, as RFC 6455 allows, so that a flood of pings costs no memory.
        self._ping: Ping | None = None

    @property
    def awaits_answer(self) -> bool:
        """See `Session.awaits_answer`."""
        return self._state is ConnectionState.LOCAL_CLOSING

    @property
    def has_backlog(self) -> bool:
        """See `Session.has_backlog`."""
        return self._has_events and not self._is_over

    @property
    def held_length(self) -> int:
        """See `Session.held_length`."""
        return len(self._message)

    @property
    def _state(self) -> ConnectionState:
        return ConnectionState.CONNECTING if self._connection is None else self._connection.state

    def feed(self, data: bytes) -> None:
        """See `Session.feed`."""
        if not data:
            self._wire_has_ended = True
        elif self._connection is None:
            self._fed += data
        elif self._state in (ConnectionState.OPEN, ConnectionState.LOCAL_CLOSING) and not self._is_over:
            self._connection.receive_data(data)

    def do_handshake(self) -> bool:
        """See `Session.do_handshake`."""
        fed, self._fed = self._fed, b""
        self._connection = self._handshake.feed(fed)
        if self._connection is not None:
            self._handshake_time = self._now()
            return True
        if self._wire_has_ended:
            raise SessionError(closed_in_handshake(self))
        return False

    def read(self, length: int) -> bytes | None:
        """See `Session.read`; returns the greeting and complete messages only, which may exceed `length`."""
        assert self._connection is not None
        events = self._connection.events()
        steps = 0
        while self._plain_length < length and not self._is_over and steps < EVENTS_PER_STEP:
            steps += 1
            event = next(events, None)
            if event is not None:
                self._on_event(event)
            elif self._wire_has_ended:
                self._is_over = True
            else:
                break
        self._has_events = steps == EVENTS_PER_STEP
        if self._plain:
            plain = b"".join(self._plain)
            self._plain.clear()
            self._plain_length = 0
            return plain
        if self._fault:
            raise SessionError(self._fault, detail=self._detail)
        return b"" if self._is_over else None

    def write(self, data: bytes) -> None:
        """See `Session.write`; bytes after a close are dropped."""
        if self._state is ConnectionState.OPEN:
            self._splitter.add(data)
            self._send_fragments()

    def end(self) -> bool:
        """See `Session.end`; sends a close frame, which has the reason if the peer was refused or a message is cut."""
        if self._state is ConnectionState.OPEN:
            while self._send_fragments():
                pass
            if self._has_refused():
                self._close(CloseReason.POLICY_VIOLATION, REFUSAL)
            elif self._splitter.is_within_message:
                self._close(CloseReason.INTERNAL_ERROR, "the rest of a message is lost")
            else:
                self._close(CloseReason.NORMAL_CLOSURE, "")
        return True

    def take_outgoing(self) -> bytes:
        """See `Session.take_outgoing`."""
        if not self._outgoing:
            self._send_fragments()
        if self._ping is not None and self._connection is not None and self._state is ConnectionState.OPEN:
            self._outgoing.append(self._connection.send(self._ping.response()))
        self._ping = None
        outgoing = self._handshake.outgoing + b"".join(self._outgoing)
        self._handshake.outgoing = b""
        self._outgoing.clear()
        return outgoing

    def _send_fragments(self) -> bool:
        """Send the next fragments of the agent; return whether there were any."""
        if self._connection is None or self._state is not ConnectionState.OPEN:
            return False
        fragments = self._splitter.split(EVENTS_PER_STEP)
        for fragment, is_last in fragments:
            self._has_sent_message = True
            message = BytesMessage(data=fragment, message_finished=is_last)
            self._outgoing.append(self._connection.send(message))
        return bool(fragments)

    def _has_refused(self) -> bool:
        if not self._is_server or self._has_sent_message:
            return False
        return not self._splitter.is_greeted or self._now() - self._handshake_time < REFUSAL_LIMIT_S

    def _on_event(self, event: Event) -> None:
        if isinstance(event, BytesMessage):
            self._on_fragment(event)
        elif isinstance(event, Ping):
            self._ping = event
        elif isinstance(event, CloseConnection):
            self._is_over = True
            if self._state in (ConnectionState.REMOTE_CLOSING, ConnectionState.CLOSED):
                self._on_close(event)
            else:
                self._on_violation(event)

    def _on_fragment(self, event: BytesMessage) -> None:
        if event.message_finished and not self._message:
            self._add_message(event.data)
            return
        self._message += event.data
        if event.message_finished:
            self._add_message(self._message)
            self._message = bytearray()
        self._limit.held = len(self._message)

    def _add_message(self, message: bytes | bytearray) -> None:
        # No subscriber limits messages that the agent discards.
        if self._params.discards(message) and not self._budget.spend():
            self._is_over = True
            text = "too many messages that are discarded"
            self._close(CloseReason.POLICY_VIOLATION, text)
            self._fault = f"the peer sent {text}, because of their hop count: see ttl= and accept-zero-hop="
            return
        self._plain += (LENGTH.pack(len(message)), message)
        self._plain_length += LENGTH.size + len(message)

    def _on_close(self, event: CloseConnection) -> None:
        if self._state is ConnectionState.REMOTE_CLOSING:
            assert self._connection is not None
            self._outgoing.append(self._connection.send(event.response()))
        if event.code not in _NORMAL_CODES:
            code = int(event.code)
            shown = f"code {code}" if code in _USUAL_CODES else "a code that the event log has"
            # Other reasons are free text of the peer.
            reason = f": {REFUSAL!r}" if event.reason == REFUSAL else ""
            self._fault = (
                f"the peer closed the connection with {shown}{reason}; see RFC 6455, section 7.4.1, and the log of "
                "the peer"
            )
            self._detail = f"code {code}: {event.reason!a}" if event.reason else f"code {code}"

    def _on_violation(self, event: CloseConnection) -> None:
        detail = ""
        if event.code == CloseReason.UNSUPPORTED_DATA:
            text, remedy = "a text message, which SP does not use", "send binary messages"
        elif event.code == CloseReason.MESSAGE_TOO_BIG:
            text, remedy = f"a message of more than {self._limit.max_length} bytes", "max-message= sets it"
        elif event.code == CloseReason.POLICY_VIOLATION:
            text, remedy = "too many frames with little content", "send longer fragments, or fewer pings"
        else:
            text, remedy = "a violation of WebSocket", "repair the peer"
            detail = event.reason or ""
        if self._state is ConnectionState.OPEN:
            # Without the remedy: a close frame has space for 123 bytes of text.
            self._close(event.code, f"{text}: {detail}" if detail else text)
        self._fault = f"the peer sent {text}: {remedy}"
        # wsproto quotes numbers only, and those of frames in ASCII.
        self._detail = detail

    def _close(self, code: int, reason: str) -> None:
        assert self._connection is not None
        self._outgoing.append(self._connection.send(CloseConnection(code=code, reason=reason)))


class _FrameLimit(Extension):
    """Check of each frame; an extension that is not negotiated on the wire."""

    name = "aeron-frame-limit"

    def __init__(self, max_length: int, budget: FrameBudget) -> None:
        self.max_length = max_length
        #: Bytes held of the incomplete message.
        self.held = 0
        self._budget = budget

    def enabled(self) -> bool:
        return True

    def offer(self) -> bool:
        return False

    def frame_inbound_header(
        self, proto: FrameDecoder | FrameProtocol, opcode: Opcode, rsv: RsvBits, payload_length: int
    ) -> CloseReason | RsvBits:
        # Before the payload is held. Called again for the same frame if its mask has not arrived yet.
        if opcode is Opcode.TEXT:
            return CloseReason.UNSUPPORTED_DATA
        if not opcode.iscontrol() and payload_length > self.max_length - self.held:
            return CloseReason.MESSAGE_TOO_BIG
        return RsvBits(rsv1=False, rsv2=False, rsv3=False)

    def frame_inbound_complete(
        self, proto: FrameDecoder | FrameProtocol, fin: bool
    ) -> CloseReason | bytes | None:
        header = proto.header if isinstance(proto, FrameDecoder) else None
        if header is None:
            return None
        if not header.opcode.iscontrol():
            self._budget.earn(header.payload_len)
        if header.opcode not in (Opcode.BINARY, Opcode.CLOSE) and not self._budget.spend():
            return CloseReason.POLICY_VIOLATION
        return None
