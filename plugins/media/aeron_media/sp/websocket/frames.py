"""Budget of one peer for frames with little or no payload.

One thread handles WebSocket for all peers of an endpoint, and each frame takes about 10 µs of it, however short. The
first frame of a message costs nothing if the message is delivered: subscribers limit those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: Frames that a peer may send at once. Invented.
BURST: Final = 256
#: Bytes of payload that earn a frame. Invented: a message that a peer divides anywhere may have a short last fragment,
#: but has many more bytes before it.
BYTES_PER_FRAME: Final = 64
#: Frames that are earned in a second; they take 1 ms. Invented: for pings, of which a peer needs one a second at most.
FRAMES_PER_S: Final = 100


class FrameBudget:
    """Frames with little payload that one peer may still send; `now` returns seconds of a monotonic clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._left = float(BURST)
        self._last_s = now()

    def earn(self, length: int) -> None:
        """Increase the budget for `length` bytes of payload, to at most BURST frames."""
        self._left = min(self._left + length / BYTES_PER_FRAME, float(BURST))

    def spend(self) -> bool:
        """Take a frame from the budget; return False if it is used up."""
        now_s = self._now()
        self._left = min(self._left + (now_s - self._last_s) * FRAMES_PER_S, float(BURST))
        self._last_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True
