"""Rate limit of the actions that frames of peers cause, because frames may be forged.

Replies to round-trip measurements go to the destinations or the source of the stream, never to the source address of a
request. At most REPLIES are sent per stream and REPLY_INTERVAL_NS, so that forged requests cannot cause a flood of
replies. Further requests are counted as invalid packets; a real peer measures again.
"""

from __future__ import annotations

# Our choice: 6400 replies per second are enough for one receiver that measures every 400 µs, the default minimum of the
# reference's cubic, or for a hundred receivers with a round-trip time of 4 ms, which cubic measures every four
# round trips. The replies take 2 Mbit/s of UDP payload.
REPLIES = 64
REPLY_INTERVAL_NS = 10_000_000


class RateLimit:
    """Limit of `limit` actions per interval of `interval_ns`; used by one agent."""

    def __init__(self, limit: int, interval_ns: int) -> None:
        self._limit = limit
        self._interval_ns = interval_ns
        self._left = limit
        self._end_ns = 0

    def take(self, now_ns: int) -> bool:
        """Return whether one more action is permitted; if so, count it."""
        # Fixed intervals are enough: at most twice the limit is permitted in quick succession, half of it before and
        # half after the border of two intervals.
        if now_ns >= self._end_ns:
            self._left = self._limit
            self._end_ns = now_ns + self._interval_ns
        if self._left == 0:
            return False
        self._left -= 1
        return True


def reply_limit() -> RateLimit:
    """Return a new limit of REPLIES per REPLY_INTERVAL_NS, for the replies of one stream to round-trip measurements."""
    return RateLimit(REPLIES, REPLY_INTERVAL_NS)
