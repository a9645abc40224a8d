"""The time since the epoch, which goes on where somebody sets the system's clock back."""

from __future__ import annotations

import time
from collections.abc import Callable


class EpochClock:
    """Returns nanoseconds since the epoch, never fewer than before; one thread uses it.

    After the system's clock was set back it counts on by itself: what is timed by it must not wait for an hour to
    come again, and an index must not go backwards.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, steady_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._steady_ns = steady_ns
        self._last_ns = wall_ns()
        self._last_steady_ns = steady_ns()

    def __call__(self) -> int:
        """Return the time."""
        steady_ns = self._steady_ns()
        wall_ns = self._wall_ns()
        counted_ns = self._last_ns + steady_ns - self._last_steady_ns
        # The wall is a little slower or faster where it is being corrected: that is followed forward.
        self._last_ns = wall_ns if wall_ns >= self._last_ns else counted_ns
        self._last_steady_ns = steady_ns
        return self._last_ns
