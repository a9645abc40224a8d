"""Limit for the replies of a stream to round-trip measurements of its peers.

Replies go to the destinations or the source of the stream, never to the source address of a request, which may be
forged. At most REPLIES are sent per INTERVAL_NS, so that forged requests cannot make a sender flood its receivers.
Further requests are counted as invalid packets; a real peer measures again.
"""

from __future__ import annotations

# Our choice: 6400 replies per second are enough for one receiver that measures every 400 µs, as the reference's cubic
# does, or for a hundred receivers with a round-trip time of 4 ms. They take 2 Mbit/s.
REPLIES = 64
INTERVAL_NS = 10_000_000


class ReplyBudget:
    """Counts the replies of one stream; used by one agent."""

    def __init__(self) -> None:
        self._left = REPLIES
        self._end_ns = 0

    def take(self, now_ns: int) -> bool:
        """Return whether one more reply may be sent, and count it."""
        # Fixed intervals are enough: at their border up to twice REPLIES can follow one another, not more.
        if now_ns >= self._end_ns:
            self._left = REPLIES
            self._end_ns = now_ns + INTERVAL_NS
        if self._left == 0:
            return False
        self._left -= 1
        return True
