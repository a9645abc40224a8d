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

#: Why a connection ended or a message was not sent, and which parameter matters.
_TEXTS: Final = {
    reasons.NOT_SP: "the first bytes are not a greeting of SP version 0: the peer must be a PAIR socket with the same "
    "transport=",
    reasons.SILENT: "no complete greeting within handshake-timeout=: check that the peer is a PAIR socket, or increase "
    "handshake-timeout=",
    reasons.NOT_CONNECTED: "not connected within handshake-timeout=: check that the peer can be reached, or increase "
    "handshake-timeout=; the connection is tried again",
    reasons.REFUSED_PEER: "refused: this end is monogamous and has another peer; poly=true accepts several",
    reasons.REFUSED_BY_PEER: "the peer closed right after the greeting: it has another peer, or refuses this one; with "
    "poly=true it would accept several",
    reasons.TOO_LONG: "message of length {value}: at most {limit} (in bytes); max-message= sets it",
    reasons.NO_MESSAGE: "type {value} before a message: must be {limit}; the connection is closed: the peer must use "
    "the format of SP for Unix sockets",
    reasons.BUDGET_SPENT: "no memory for its messages: max-memory= limits what all peers may use: increase it, or "
    "reduce max-message=",
    reasons.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it, above "
    f"{MAX_MONOGAMOUS} only with poly=true",
    reasons.TOO_MANY_OF_SOURCE: "{value} connections from one source: at most {limit}; max-per-source= sets it",
    reasons.EVICTED_SILENT: "evicted for a new connection after no greeting for a second: the maximum number of "
    "connections, {limit}, was reached; "
    f"max-connections= sets it, above {MAX_MONOGAMOUS} only with poly=true",
    reasons.VANISHED: "nothing arrived from the peer within peer-timeout=: check the peer and the network, or increase "
    "peer-timeout=",
    reasons.REJECTED: "a subscriber has rejected its image, so the connection is closed: look for the reason at the "
    "subscriber",
    reasons.EVICTED: "disconnected, and its last {value} bytes were not consumed: poll the subscription within "
    f"{bounds.EVICTION_NS // S} s",
    reasons.UNFINISHED: "incomplete message: the rest did not arrive within message-timeout=: check the peer, or "
    "increase message-timeout=",
    reasons.NO_PEER: "message of length {value} for a peer that is not connected: dropped; send to connected peers "
    "only",
    reasons.PEER_FULL: "message of length {value} for a peer with a full queue of length {limit}; peer-queue= sets it: "
    "dropped; increase peer-queue=, or max-memory= if all of it is used, or send more slowly",
    reasons.MESSAGE_TOO_LONG: "message of length {value} to be sent: at most {limit} (in bytes); max-message= sets it",
    reasons.UNSENT: "disconnected: messages queued for it, of length {value}, are lost: send them again",
    reasons.CLOSED_WITH: "messages queued for it, of length {value}, are lost: not sent within linger=: increase "
    "linger=, or check that the peer reads",
}
_NAMES: Final = {wire.PROTOCOL_PAIR0: "PAIR0", wire.PROTOCOL_PAIR1: "PAIR1"}


def _protocol_name(protocol: int) -> str:
    return f"{_NAMES.get(protocol, 'protocol')} ({protocol})"


def _fault_text(reason: int, value: int, limit: int) -> str:
    """Return the message of a reason, with the value found and the limit."""
    if reason == reasons.OTHER_PROTOCOL:
        return f"the peer speaks {_protocol_name(value)}, this end {_protocol_name(limit)}; protocol= sets it"
    return _TEXTS[reason].format(value=value, limit=limit)


@dataclass(frozen=True, kw_only=True)
class PairParams:
    """Parameters of one socket; lengths are bytes.

    `faults` receives faults of connections, `losses` those of messages that were not sent.
    """

    tallies: Tallies
    budget: MemoryBudget
    faults: FaultSlot = field(default_factory=partial(FaultSlot, _fault_text))
    losses: FaultSlot = field(default_factory=partial(FaultSlot, _fault_text))
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
