"""The built-in idle strategies: no operation, spin, yield, sleep, backoff and signal.

Source: aeron_agent.c; `signal` is specific to aeron-core.
"""

from __future__ import annotations

from aeron_core._native import park
from aeron_core._native.park import Bell
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.agent.agent import Agent
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

    The first sleep takes `min_park_ns`; each following one twice the last, at most `max_park_ns`. After `attach`, a
    bell ends a sleep of that length early, and sleeps while the agent rests take longer.
    """

    _agent: Agent

    def __init__(self, max_spins: int, max_yields: int, min_park_ns: int, max_park_ns: int) -> None:
        self._max_spins = max_spins
        self._max_yields = max_yields
        self._min_park_ns = min_park_ns
        self._max_park_ns = max_park_ns
        self._park_ns = min_park_ns
        self._rest_ns = max_park_ns
        self._bell: Bell | None = None
        self._was_ready = False

    def attach(self, agent: Agent, bell: Bell, rest_ns: int) -> None:
        """End sleeps early with `bell`, and let them take `rest_ns` while the agent may rest; call before `idle`.

        For `rest_ns` below `max_park_ns`, no sleep takes longer than that.
        """
        self._agent = agent
        self._bell = bell
        self._rest_ns = max(rest_ns, self._max_park_ns)

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count > 0:
            self._restart()
        elif self._spins < self._max_spins:
            self._spins += 1
            park.pause()
        elif self._yields < self._max_yields:
            self._yields += 1
            park.yield_thread()
        elif self._bell is None or self._park_ns < self._max_park_ns:
            # While messages follow each other closely, a ring for each short sleep would cost publishers a system call,
            # and the sender would find one message each time instead of a batch.
            park.sleep_ns(self._park_ns)
            self._park_ns = min(self._park_ns * 2, self._max_park_ns)
        elif not self._bell.is_armed():
            # Run one more duty cycle: it finds what was stored before the flag was visible. Whatever is stored later
            # rings.
            self._bell.arm()
        else:
            self._park()
        return 0

    def wake(self) -> None:
        """See `IdleStrategy.wake`; without a bell, the sleep ends by itself."""
        if self._bell is not None:
            self._bell.push()

    def _restart(self) -> int:
        self._spins = 0
        self._yields = 0
        self._park_ns = self._min_park_ns
        self._was_ready = False
        if self._bell is not None:
            self._bell.disarm()
        return 0

    def _park(self) -> int:
        if self._bell is None:
            return 0
        duration_ns = self._max_park_ns
        if self._rest_ns > duration_ns and self._agent.may_rest():
            duration_ns = self._rest_ns
        # A descriptor ended the last wait, but the duty cycle found no work: it may stay readable, such as that of a
        # socket with an error. Do not watch it this time.
        self._was_ready = self._bell.wait(duration_ns, not self._was_ready)
        return 0


class SignalIdleStrategy(IdleStrategy):
    """Waits, after a duty cycle without work, until a named semaphore is posted or `bound_ns` has passed.

    Events from sources that cannot post (a client of another library, the network) wait for at most
    `bound_ns`. Without `sem_clockwait` (glibc before 2.30, musl) the semaphore is polled every millisecond. Creating
    it raises PermissionError if another user has created a semaphore of this name, OSError if it cannot be opened.
    After `attach` it waits for a bell instead, which descriptors of the agent ring, too.
    """

    def __init__(self, name: str, bound_ns: int) -> None:
        self.semaphore = NamedSemaphore(name, create=True)
        self._bound_ns = bound_ns
        self._bell: Bell | None = None
        self._was_ready = False

    def attach(self, bell: Bell) -> None:
        """Wait for `bell` instead of the semaphore; call before `idle`."""
        self._bell = bell

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if self._bell is None:
            if work_count <= 0:
                self.semaphore.wait(self._bound_ns)
        elif work_count > 0:
            self._was_ready = False
            self._bell.disarm()
        elif not self._bell.is_armed():
            # As in `BackoffIdleStrategy`: look once more.
            self._bell.arm()
        else:
            self._was_ready = self._bell.wait(self._bound_ns, not self._was_ready)
        return 0

    def wake(self) -> None:
        """Make the current or next wait end at once; any thread may call it."""
        if self._bell is None:
            self.semaphore.signal()
        else:
            self._bell.push()

    def close(self) -> None:
        """Remove the semaphore's name, so that other processes no longer find it; repeating it has no effect."""
        self.semaphore.unlink()
