"""Parameters of a PAIR socket and its parts, and the messages about its faults in the error log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from aeron_media.fault_slot import FaultSlot
from aeron_media.sp._native import bounds, reasons, wire

if TYPE_CHECKING:
    from aeron_media._native.byte_queue import MemoryBudget
    from aeron_media.sp._native.tallies import Tallies

S: Final = 1_000_000_000

#: Maximum number of connections of a monogamous socket: its peer, and 15 that are being greeted, refused, or not fully
#: consumed. Invented.
MAX_MONOGAMOUS: Final = 16

#: Also recorded for connections over TLS and WebSocket, which a relay thread ends.
VANISHED: Final = (
    "nothing arrived from the peer within peer-timeout=: check the peer and the network, or increase it"
)

#: Why a connection ended or a message was not sent, and which parameter matters; and what was found. The first text
#: depends on limits of this end only: with values of the peer, each would be an entry of the error log.
_TEXTS: Final = {
    reasons.NOT_SP: (
        "the first bytes are not a greeting of SP version 0: the peer must be a PAIR socket with the same transport=",
        "",
    ),
    reasons.OTHER_PROTOCOL: (
        "the peer speaks {value}, this end {limit}; protocol= sets it",
        "the peer speaks protocol {value}",
    ),
    reasons.SILENT: (
        "no complete greeting within handshake-timeout=: check that the peer is a PAIR socket, or increase "
        "handshake-timeout=",
        "",
    ),
    reasons.NOT_CONNECTED: (
        "not connected within handshake-timeout=: check that the peer can be reached, or increase handshake-timeout=; "
        "the connection is tried again",
        "",
    ),
    reasons.REFUSED_PEER: (
        "refused: this end is monogamous and has another peer; poly=true accepts several",
        "",
    ),
    reasons.REFUSED_BY_PEER: (
        "the peer closed right after the greeting: it has another peer, or refuses this one; with poly=true it would "
        "accept several",
        "",
    ),
    reasons.TOO_LONG: (
        "message is too long: at most {limit} bytes; max-message= sets it",
        "message of length {value}",
    ),
    reasons.NO_MESSAGE: (
        "wrong type before a message: must be {limit}; the connection is closed: the peer must use the format of SP "
        "for Unix sockets",
        "type {value}",
    ),
    reasons.BUDGET_SPENT: (
        "no memory for its messages: max-memory= limits what all peers may use: increase it, or reduce max-message=",
        "",
    ),
    reasons.TOO_MANY: (
        f"too many connections: at most {{limit}}; max-connections= sets it, above {MAX_MONOGAMOUS} only with "
        "poly=true",
        "",
    ),
    reasons.TOO_MANY_OF_SOURCE: (
        "too many connections from one source: at most {limit}; max-per-source= sets it",
        "",
    ),
    reasons.EVICTED_SILENT: (
        "evicted for a new connection after no greeting for a second: the maximum number of connections, {limit}, was "
        f"reached; max-connections= sets it, above {MAX_MONOGAMOUS} only with poly=true",
        "",
    ),
    reasons.VANISHED: (VANISHED, ""),
    reasons.REJECTED: (
        "a subscriber has rejected its image, so the connection is closed: look for the reason at the subscriber",
        "",
    ),
    reasons.EVICTED: (
        "disconnected, and its last bytes were not consumed: poll the subscription within "
        f"{bounds.EVICTION_NS // S} s",
        "bytes not consumed: {value}",
    ),
    reasons.UNFINISHED: (
        "incomplete message: the rest did not arrive within message-timeout=: check the peer, or increase "
        "message-timeout=",
        "",
    ),
    reasons.NO_PEER: (
        "message for a peer that is not connected: dropped; send to connected peers only",
        "message of length {value}",
    ),
    reasons.PEER_FULL: (
        "message for a peer with a full queue, of length {limit}; peer-queue= sets it: dropped; increase peer-queue=, "
        "or max-memory= if all of it is used, or send more slowly",
        "message of length {value}",
    ),
    reasons.MESSAGE_TOO_LONG: (
        "message to be sent is too long: at most {limit} bytes; max-message= sets it",
        "message of length {value}",
    ),
    reasons.UNSENT: (
        "disconnected: messages queued for it are lost: send them again",
        "length of the messages: {value}",
    ),
    reasons.CLOSED_WITH: (
        "messages queued for it are lost: not sent within linger=: increase linger=, or check that the peer reads",
        "length of the messages: {value}",
    ),
}
_NAMES: Final = {wire.PROTOCOL_PAIR0: "PAIR0", wire.PROTOCOL_PAIR1: "PAIR1"}


def _protocol_name(protocol: int) -> str:
    return f"{_NAMES[protocol]} ({protocol})" if protocol in _NAMES else "another protocol"


def describe_fault(reason: int, value: int, limit: int) -> tuple[str, str]:
    """Return the message of a reason, the same for all values that a peer can cause, and a detail with the value."""
    text, detail = _TEXTS[reason]
    if reason == reasons.OTHER_PROTOCOL:
        return text.format(value=_protocol_name(value), limit=_protocol_name(limit)), detail.format(
            value=value
        )
    return text.format(limit=limit), detail.format(value=value, limit=limit)


@dataclass(frozen=True, kw_only=True)
class PairParams:
    """Parameters of one socket; lengths are bytes.

    `faults` receives faults of connections, `losses` those of messages that were not sent.
    """

    tallies: Tallies
    budget: MemoryBudget
    faults: FaultSlot = field(default_factory=partial(FaultSlot, describe_fault))
    losses: FaultSlot = field(default_factory=partial(FaultSlot, describe_fault))
    protocol: int = wire.PROTOCOL_PAIR1
    #: Whether messages have a type before their length, as on Unix sockets.
    has_type: bool = False
    is_polyamorous: bool = False
    ttl: int = wire.DEFAULT_TTL
    accepts_zero_hops: bool = False
    confirms: bool = False
    max_message_length: int = 1 << 20
    peer_queue_length: int = 1 << 20
    handshake_timeout_ns: int = 10 * S
    message_timeout_ns: int = 30 * S
    backoff_init_ns: int = S // 10
    backoff_max_ns: int = 5 * S
    #: Connections that one source may have; 0 for no limit.
    max_per_source: int = 0

    @property
    def prefix_length(self) -> int:
        """Number of bytes before the payload of a message: its type, if there is one, and its length."""
        return wire.LENGTH_LENGTH + (wire.TYPE_LENGTH if self.has_type else 0)

    @property
    def hops_length(self) -> int:
        """Number of bytes of the payload before the message itself, 0 with PAIR0."""
        return wire.HOPS_LENGTH if self.protocol == wire.PROTOCOL_PAIR1 else 0
