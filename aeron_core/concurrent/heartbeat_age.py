"""Age of a heartbeat: a time in epoch ms that another process on this host stores again and again.

The system clock may be stepped: forward, which makes every heartbeat look old, or back, which makes the last one of a
dead process look new until the clock has caught up. So only the first heartbeat is compared with the system clock.
Later, its age is the monotonic time since it was seen to change.
"""

from __future__ import annotations

from typing import Final

_NS_PER_MS: Final = 1_000_000


class HeartbeatAge:
    """Age of one heartbeat; one thread uses it."""

    def __init__(self) -> None:
        self._heartbeat_ms: int | None = None
        self._changed_ns = 0
        self._checked_ns = 0

    def check(self, heartbeat_ms: int, epoch_ms: int, now_ns: int) -> int:
        """Return the age of the heartbeat in ms; `epoch_ms` and `now_ns` are the present wall and monotonic time.

        A heartbeat that changed since the last check is as old as the system clock shows, but at least 0 and not older
        than the last check. A change to a negative number is none: the process has closed, and the last heartbeat ages.
        """
        has_closed = heartbeat_ms < 0 and self._heartbeat_ms is not None
        if heartbeat_ms != self._heartbeat_ms and not has_closed:
            age_ns = max(epoch_ms - heartbeat_ms, 0) * _NS_PER_MS
            if self._heartbeat_ms is not None:
                age_ns = min(age_ns, now_ns - self._checked_ns)
            self._heartbeat_ms = heartbeat_ms
            self._changed_ns = now_ns - age_ns
        self._checked_ns = now_ns
        return (now_ns - self._changed_ns) // _NS_PER_MS
