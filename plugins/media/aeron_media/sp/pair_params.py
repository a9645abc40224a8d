"""Parameters of a PAIR socket and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_media.sp._native import wire

if TYPE_CHECKING:
    from aeron_media._native.byte_queue import MemoryBudget
    from aeron_media.fault_slot import FaultSlot
    from aeron_media.sp._native.tallies import Tallies

S: Final = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class PairParams:
    """Parameters of one socket; lengths are bytes.

    `faults` receives faults of connections, `losses` those of messages that were not sent.
    """

    tallies: Tallies
    budget: MemoryBudget
    faults: FaultSlot
    losses: FaultSlot
    protocol: int = wire.PROTOCOL_PAIR1
    #: Messages have a type before their length, as on Unix sockets.
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

    @property
    def prefix_length(self) -> int:
        """Bytes before the payload of a message."""
        return wire.LENGTH_LENGTH + (wire.TYPE_LENGTH if self.has_type else 0)

    @property
    def hops_length(self) -> int:
        """Bytes of the payload before the message itself."""
        return wire.HOPS_LENGTH if self.protocol == wire.PROTOCOL_PAIR1 else 0
