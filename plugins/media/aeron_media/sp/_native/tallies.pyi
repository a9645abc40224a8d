"""See `tallies.pxd`."""

from typing import Final, final

PEERS: Final[int]
ACCEPTED: Final[int]
ATTEMPTS: Final[int]
REFUSED: Final[int]
REFUSALS: Final[int]
MISMATCHED: Final[int]
MALFORMED: Final[int]
SILENT: Final[int]
TURNED_AWAY: Final[int]
LOST: Final[int]
TOO_LONG: Final[int]
MEMORY: Final[int]
MESSAGES_IN: Final[int]
BYTES_IN: Final[int]
OVER_TTL: Final[int]
ZERO_HOPS: Final[int]
RESERVED_BITS: Final[int]
SHORT: Final[int]
MESSAGES_OUT: Final[int]
BYTES_OUT: Final[int]
NO_PEER: Final[int]
PEER_FULL: Final[int]
HOPS_SPENT: Final[int]
UNSENDABLE: Final[int]
COUNT: Final[int]

@final
class Tallies:
    def __getitem__(self, index: int) -> int: ...
    # C methods, visible to compiled modules only.
    def add(self, index: int, number: int) -> None: ...
    def put(self, index: int, number: int) -> None: ...
    def get(self, index: int) -> int: ...
