"""Counters of clients and requests that an archive has refused, for whatever reason, and of those it let wait.

The key of each has the id of the archive, and the number of the counter among these.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.counter_types import ARCHIVE_LIMITS

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron

_KEY: Final = struct.Struct("<qi")
_NAMES: Final = ("refused clients", "refused requests", "seconds in which a host had too many requests")


class LimitCounters:
    """Counters of one archive; its thread writes them.

    The constructor waits for the driver, and raises the errors of `Aeron.add_counter`.
    """

    def __init__(self, aeron: Aeron, archive_id: int) -> None:
        self.clients, self.requests, self.waits = (
            aeron.add_counter(
                ARCHIVE_LIMITS, _KEY.pack(archive_id, number), f"archive-limits: {name}, archive={archive_id}"
            )
            for number, name in enumerate(_NAMES)
        )

    def close(self) -> None:
        """Free the counters; raises as `Counter.close`."""
        for counter in (self.clients, self.requests, self.waits):
            counter.close()
