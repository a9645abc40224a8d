"""Says in words why a connection ended or a message does not go, and which parameter would have it otherwise."""

from __future__ import annotations

from typing import Final

from aeron_media.sp._native import phases, wire

_TEXTS: Final = {
    phases.NOT_SP: "what it began with is no greeting of SP, version 0",
    phases.SILENT: "no whole greeting came within handshake-timeout=",
    phases.NOT_CONNECTED: "no connection came about within handshake-timeout=",
    phases.REFUSED_PEER: "refused: this end is monogamous and has another peer; poly=true takes several",
    phases.REFUSED_BY_PEER: "the peer closed right after the greeting: it has another peer, or refuses this one",
    phases.TOO_LONG: "message of {value} bytes: at most {limit}; max-message= sets it",
    phases.NO_MESSAGE: "type {value} before a message: must be {limit}",
    phases.BUDGET_SPENT: "no memory for what it sends: max-memory= sets how much all peers may hold",
    phases.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it",
    phases.REJECTED: "a subscriber has rejected its image",
    phases.EVICTED: "it is gone, and nobody took the last {value} bytes that it had sent",
    phases.UNFINISHED: "a message of which {value} bytes have come was not gone on with for message-timeout=",
    phases.NO_PEER: "message of {value} bytes for a peer that is not connected: it goes to no other",
    phases.PEER_FULL: "message of {value} bytes for a peer whose queue of {limit} is full; peer-queue= sets it",
    phases.MESSAGE_TOO_LONG: "message of {value} bytes to be sent: at most {limit}; max-message= sets it",
    phases.UNSENT: "it is gone, and {value} bytes that were queued for it are lost",
    phases.CLOSED_WITH: "{value} bytes that were queued for it are lost: it has not taken them within linger=",
}
_NAMES: Final = {wire.PROTOCOL_PAIR0: "PAIR0", wire.PROTOCOL_PAIR1: "PAIR1"}


def _protocol_name(protocol: int) -> str:
    return f"{_NAMES.get(protocol, 'protocol')} ({protocol})"


def fault_text(reason: int, value: int, limit: int) -> str:
    """Return a reason in words, lower case, with what was found and what is allowed."""
    if reason == phases.OTHER_PROTOCOL:
        return f"it speaks {_protocol_name(value)}, this end {_protocol_name(limit)}; protocol= chooses"
    return _TEXTS[reason].format(value=value, limit=limit)
