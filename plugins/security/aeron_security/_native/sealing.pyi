"""See `sealing.pyx`."""

from collections.abc import Sequence
from typing import Final, final

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import DatagramChannel

OVERHEAD: Final[int]
REASONS: Final[tuple[str, ...]]
ROTATE_NUMBERS: Final[int]
ROTATE_INTERVAL_NS: Final[int]

def is_available() -> bool: ...
def has_fresh_numbers() -> bool: ...

@final
class SealingSession:
    def __init__(
        self,
        secrets: Sequence[bytes],
        cipher: int,
        role: int,
        peer_role: int,
        clock: Clock,
        rotate_numbers: int = ...,
        rotate_interval_ns: int = ...,
    ) -> None: ...
    @property
    def salt(self) -> bytes: ...
    @property
    def clock(self) -> Clock: ...
    def counts(self) -> dict[str, int]: ...
    def take_fault(self) -> tuple[str, SocketAddress] | None: ...

@final
class SealedDatagrams(DatagramChannel):
    def __init__(
        self, channel: DatagramChannel, session: SealingSession, reply_address: SocketAddress | None = None
    ) -> None: ...
