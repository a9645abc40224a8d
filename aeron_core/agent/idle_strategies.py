"""The built-in idle strategies: no operation, spin, yield, sleep, backoff and signal.

Source: aeron_agent.c; `signal` is specific to aeron-core.
"""

from __future__ import annotations

from aeron_core._native import park
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.spi.idle_strategy import IdleStrategy


class NoOpIdleStrategy(IdleStrategy):
    """Does nothing: the lowest latency, at the cost of a whole core."""

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        return 0


class SpinIdleStrategy(IdleStrategy):
    """Executes the processor's pause instruction, which leaves more resources to a sibling hyper-thread."""

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count <= 0:
            park.pause()
        return 0


class YieldIdleStrategy(IdleStrategy):
    """Yields the processor to other runnable threads."""

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count <= 0:
            park.yield_thread()
        return 0


class SleepIdleStrategy(IdleStrategy):
    """Sleeps for `duration_ns` after each duty cycle without work."""

    def __init__(self, duration_ns: int) -> None:
        self._duration_ns = duration_ns

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count <= 0:
            park.sleep_ns(self._duration_ns)
        return 0


class BackoffIdleStrategy(IdleStrategy):
    """Spins `max_spins` times, then yields `max_yields` times, then sleeps until work resets it.

    The first sleep takes `min_park_ns`; each following one twice the last, at most `max_park_ns`.
    """

    def __init__(self, max_spins: int, max_yields: int, min_park_ns: int, max_park_ns: int) -> None:
        self._max_spins = max_spins
        self._max_yields = max_yields
        self._min_park_ns = min_park_ns
        self._max_park_ns = max_park_ns
        self._park_ns = min_park_ns

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count > 0:
            self._spins = 0
            self._yields = 0
            self._park_ns = self._min_park_ns
        elif self._spins < self._max_spins:
            self._spins += 1
            park.pause()
        elif self._yields < self._max_yields:
            self._yields += 1
            park.yield_thread()
        else:
            park.sleep_ns(self._park_ns)
            self._park_ns = min(self._park_ns * 2, self._max_park_ns)
        return 0


class SignalIdleStrategy(IdleStrategy):
    """Waits, after a duty cycle without work, until a named semaphore is posted or `bound_ns` has passed.

    Events from sources that cannot post (a client of another library, the network) wait for at most
    `bound_ns`. Without `sem_clockwait` (glibc before 2.30, musl) the semaphore is polled every millisecond. Creating
    it raises PermissionError if another user has created a semaphore of this name, OSError if it cannot be opened.
    """

    def __init__(self, name: str, bound_ns: int) -> None:
        self.semaphore = NamedSemaphore(name, create=True)
        self._bound_ns = bound_ns

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count <= 0:
            self.semaphore.wait(self._bound_ns)
        return 0

    def wake(self) -> None:
        """Post the semaphore, so that the current or next wait ends at once; any thread may call it."""
        self.semaphore.signal()

    def close(self) -> None:
        """Remove the semaphore's name, so that other processes no longer find it; repeating it has no effect."""
        self.semaphore.unlink()
