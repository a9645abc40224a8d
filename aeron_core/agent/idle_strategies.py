"""The built-in idle strategies: no operation, spin, yield, sleep, backoff and signal.

Source: aeron_agent.c; `signal` is specific to aeron-core.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import park
from aeron_core._native.park import Bell
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.agent.agent import Agent
from aeron_core.spi.idle_strategy import IdleStrategy

#: Longest wait after a bell was armed, before the agent looks at everything once more, and of one that does not watch
#: the descriptors. Invented: the longest sleep of the default idle strategy of the reference.
FIRST_WAIT_NS: Final = 1_000_000


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


class BellWait:
    """Waits of one thread for its bell; without a bell it does nothing."""

    _is_heard: bool  # all three are False in a new object of the compiled class
    _is_first: bool
    _was_ready: bool

    def __init__(self) -> None:
        self._bell = Bell()
        self._agent = Agent("")
        self._first_ns = FIRST_WAIT_NS

    def attach(self, agent: Agent, bell: Bell) -> None:
        """Wait for a bell, in the thread of an agent."""
        self._agent = agent
        self._bell = bell
        self._is_attached = True

    def is_attached(self) -> bool:
        """Return whether there is a bell."""
        return self._is_attached

    def wait(self, duration_ns: int, rest_ns: int) -> int:
        """Arm the bell; if it is armed already, wait for it. Return 0.

        Waits until the agent's next timer, at most `rest_ns`, if nothing but rings and descriptors can give it work
        until then; otherwise for `duration_ns`.
        """
        if not self._bell.is_armed():
            # Run one more duty cycle: it finds what was stored before the flag was visible. Whatever is stored later
            # rings.
            self._bell.arm()
            self._is_heard = True
            self._is_first = True
            return self._agent.attend(True)
        # A descriptor ended the last wait, but the duty cycle received nothing: it may stay readable, such as that of a
        # socket with an error. Do not watch it this time.
        watches = not self._was_ready or self._agent.has_received()
        if self._is_first or not watches:
            duration_ns = min(duration_ns, self._first_ns)
        else:
            resting_ns = self._agent.rest_ns(rest_ns)
            if resting_ns > 0:
                duration_ns = max(resting_ns, min(duration_ns, self._first_ns))
        self._was_ready = self._bell.wait(duration_ns, watches)
        if self._is_first or not self._bell.is_armed():
            # After the first wait, look once more, though nothing rang: a store that another processor had not made
            # visible when the flag was set, and whose ring came too early to see the flag, is visible now.
            self._is_first = False
            self._agent.attend(True)
        return 0

    def stop(self) -> int:
        """Disarm the bell: there is work. Returns 0."""
        self._was_ready = False
        if self._is_heard:
            self._is_heard = False
            self._bell.disarm()
            self._agent.attend(False)
        return 0

    def push(self) -> None:
        """Make the current or next wait end at once; any thread may call it."""
        self._bell.push()


class BackoffIdleStrategy(IdleStrategy):
    """Spins `max_spins` times, then yields `max_yields` times, then sleeps until work resets it.

    The first sleep takes `min_park_ns`; each following one twice the last, at most `max_park_ns`. After `attach`, a
    bell ends a sleep of that length early, and sleeps while the agent rests take longer.
    """

    def __init__(self, max_spins: int, max_yields: int, min_park_ns: int, max_park_ns: int) -> None:
        self._max_spins = max_spins
        self._max_yields = max_yields
        self._min_park_ns = min_park_ns
        self._max_park_ns = max_park_ns
        self._park_ns = min_park_ns
        self._rest_ns = max_park_ns
        self._wait = BellWait()

    def attach(self, agent: Agent, bell: Bell, rest_ns: int) -> None:
        """End sleeps early with `bell`, and let them take `rest_ns` while the agent may rest; call before `idle`.

        For `rest_ns` below `max_park_ns`, no sleep takes longer than that.
        """
        self._wait.attach(agent, bell)
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
        elif self._park_ns < self._max_park_ns or not self._wait.is_attached():
            # While messages follow each other closely, a ring for each short sleep would cost publishers a system call,
            # and the sender would find one message each time instead of a batch.
            park.sleep_ns(self._park_ns)
            self._park_ns = min(self._park_ns * 2, self._max_park_ns)
        else:
            self._wait.wait(self._max_park_ns, self._rest_ns)
        return 0

    def wake(self) -> None:
        """See `IdleStrategy.wake`; without a bell, the sleep ends by itself."""
        self._wait.push()

    def _restart(self) -> int:
        self._spins = 0
        self._yields = 0
        self._park_ns = self._min_park_ns
        return self._wait.stop()


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
        self._wait = BellWait()

    def attach(self, agent: Agent, bell: Bell) -> None:
        """Wait for `bell` instead of the semaphore; call before `idle`."""
        self._wait.attach(agent, bell)

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        if work_count > 0:
            self._wait.stop()
        elif self._wait.is_attached():
            self._wait.wait(self._bound_ns, self._bound_ns)
        else:
            self.semaphore.wait(self._bound_ns)
        return 0

    def wake(self) -> None:
        """Make the current or next wait end at once; any thread may call it."""
        if self._wait.is_attached():
            self._wait.push()
        else:
            self.semaphore.signal()

    def close(self) -> None:
        """Remove the semaphore's name, so that other processes no longer find it; repeating it has no effect."""
        self.semaphore.unlink()
