"""Messages for the error log: why a connection ended or a message was not sent, and which parameter matters."""

from __future__ import annotations

from typing import Final

from aeron_media.sp._native import phases, wire

_TEXTS: Final = {
    phases.NOT_SP: "the first bytes are not a greeting of SP version 0",
    phases.SILENT: "no complete greeting within handshake-timeout",
    phases.NOT_CONNECTED: "not connected within handshake-timeout",
    phases.REFUSED_PEER: "refused: this end is monogamous and has another peer; poly=true accepts several",
    phases.REFUSED_BY_PEER: "the peer closed right after the greeting: it has another peer, or refuses this one",
    phases.TOO_LONG: "message of {value} bytes: at most {limit}; max-message= sets it",
    phases.NO_MESSAGE: "type {value} before a message: must be {limit}",
    phases.BUDGET_SPENT: "no memory for its messages: max-memory= limits what all peers may use",
    phases.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it",
    phases.REJECTED: "a subscriber has rejected its image",
    phases.EVICTED: "disconnected, and its last {value} bytes were not consumed",
    phases.UNFINISHED: "incomplete message: no more bytes within message-timeout= after the first {value}",
    phases.NO_PEER: "message of {value} bytes for a peer that is not connected: dropped",
    phases.PEER_FULL: "message of {value} bytes for a peer with a full queue of {limit} bytes; peer-queue= sets it",
    phases.MESSAGE_TOO_LONG: "message of {value} bytes to be sent: at most {limit}; max-message= sets it",
    phases.UNSENT: "disconnected: {value} bytes that were queued for it are lost",
    phases.CLOSED_WITH: "{value} bytes that were queued for it are lost: not sent within linger=",
}
_NAMES: Final = {wire.PROTOCOL_PAIR0: "PAIR0", wire.PROTOCOL_PAIR1: "PAIR1"}


def _protocol_name(protocol: int) -> str:
    return f"{_NAMES.get(protocol, 'protocol')} ({protocol})"


def fault_text(reason: int, value: int, limit: int) -> str:
    """Return the message of a reason, with the value found and the limit."""
    if reason == phases.OTHER_PROTOCOL:
        return f"the peer speaks {_protocol_name(value)}, this end {_protocol_name(limit)}; protocol= sets it"
    return _TEXTS[reason].format(value=value, limit=limit)
