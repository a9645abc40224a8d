"""See `peers.pxd` and `peers.pyx`."""

from typing import Final, final

from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter

RESULT_NO_PEER: Final[int]
RESULT_PEER_FULL: Final[int]
RESERVED_HOPS_MASK: Final[int]
RESERVED_HAS_PEER: Final[int]
RESERVED_PEER_SHIFT: Final[int]
COUNTER_TYPE_PEER: Final[int]
COUNTER_TYPE_REFUSALS: Final[int]
PEER_SESSION_SHIFT: Final[int]
PEER_IS_CONNECTED: Final[int]
PEER_SPACE_MASK: Final[int]
PEER_KEY_TEXT_OFFSET: Final[int]
PEER_KEY_TEXT_MAX_LENGTH: Final[int]

# C functions: only compiled modules can call them.
def peer_value(session_id: int, space: int) -> int: ...
def reserved_for(session_id: int, hops: int) -> int: ...

@final
class PeerCounter:
    counter: AtomicCounter
    def __init__(self, counter: AtomicCounter, metadata: AtomicBuffer) -> None: ...
    # C methods: only compiled modules can call them.
    def admit(self, session_id: int, space: int, address: SocketAddress) -> int: ...
    def show(self, session_id: int, space: int) -> int: ...
    def leave(self) -> int: ...
