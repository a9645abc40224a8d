"""See `sealing.pyx`."""

from collections.abc import Sequence
from typing import Final, final

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import DatagramChannel

AERON_CORE_SPI_VERSION: Final[int]
OVERHEAD: Final[int]
REASONS: Final[tuple[str, ...]]
ROTATE_NUMBERS: Final[int]
ROTATE_INTERVAL_NS: Final[int]
LAST_NS: Final[int]
ADMIT: Final[int]
FORGET: Final[int]
GREET: Final[int]
RENEW: Final[int]

def is_available() -> bool: ...
def has_fresh_numbers() -> bool: ...
def fresh_number() -> bytes: ...

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
        public_key: bytes | None = None,
    ) -> None: ...
    @property
    def salt(self) -> bytes: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def sockets(self) -> dict[int, SealedDatagrams]: ...
    def grant(self) -> tuple[bytes, int, int] | None: ...
    def order(
        self,
        code: int,
        owner: int,
        key: bytes,
        prk: bytes,
        number: int,
        line: int = ...,
        generation: int = ...,
        began_ns: int = ...,
    ) -> bool: ...
    def end_filters(self, now_ns: int) -> None: ...
    def take_handshake(self) -> tuple[bytes, SocketAddress, int] | None: ...
    def counts(self) -> dict[str, int]: ...
    def take_fault(self) -> tuple[str, SocketAddress] | None: ...

@final
class SealedDatagrams(DatagramChannel):
    def __init__(
        self, channel: DatagramChannel, session: SealingSession, reply_address: SocketAddress | None = None
    ) -> None: ...
    def send_handshake(self, datagram: bytes, destination: SocketAddress) -> None: ...
