"""Streams that an agent visits: active ones in every duty cycle, quiet ones in turns.

A client that writes to a log notifies no driver, so each stream has to be looked at. Looking at all of them in every
duty cycle would make an active stream wait for idle ones.
Invariant: a stream whose `is_active` is set is in the list of active streams of its agent, once.
"""

from __future__ import annotations

from typing import Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native.pointers import PointerList
from aeron_core.driver._native import operations

#: Time in which each quiet stream is checked for new data once, however many there are. Invented: the longest sleep of
#: the default idle strategies, so that the first message after a pause waits no longer because of other streams.
TURN_NS: Final = 1_000_000
#: Time after the last movement of a stream for which it counts as active. Invented: a stream with 100 messages a second
#: is visited in every duty cycle, and 10,000 streams with one message a second are a hundred active ones.
ACTIVE_NS: Final = 10_000_000
#: Interval in which a quiet stream is visited for its timers, such as heartbeats. Invented: a twentieth of the shortest
#: of them, the intervals of SETUPs and heartbeats.
TIMER_NS: Final = 5_000_000


class StreamActivity:
    """Membership of one stream in the active streams of its agent; used on the thread of the agent."""

    _until_ns: int  # all three are 0 in a new object of the compiled class
    _next_timer_ns: int
    is_active: bool

    def __init__(self) -> None:
        self._active_ns = ACTIVE_NS
        self._timer_interval_ns = TIMER_NS

    def join(self, active: PointerList, stream: object) -> int:
        """Become active in the list of the agent, which must outlive the stream; return 0."""
        self._active = cython.cast(cython.pointer(PyObject), active)
        self._stream = stream
        return self.wake()

    def leave(self) -> int:
        """Stay out of the list from now on; return 0. The agent removes the stream from it."""
        self._active = cython.NULL
        return 0

    def wake(self) -> int:
        """Have the agent visit the stream in each of the next duty cycles; return 0."""
        if not self.is_active and self._active != cython.NULL:
            self.is_active = True
            cython.cast(PointerList, self._active).append(self._stream)
        return 0

    def hurry(self) -> int:
        """Have the agent visit the stream in its next duty cycle, and check its timers: one may be due; return 0."""
        self._next_timer_ns = 0
        return self.wake()

    def move(self, now_ns: int) -> None:
        """Keep the stream active for ACTIVE_NS: something moved, or can."""
        self._until_ns = now_ns + self._active_ns

    def visit(self, now_ns: int) -> None:
        """Note that the timers of the stream are checked now."""
        self._next_timer_ns = now_ns + self._timer_interval_ns

    def is_over(self, now_ns: int) -> bool:
        """Return whether nothing moved for ACTIVE_NS, and the timers were checked within TIMER_NS."""
        return now_ns > self._until_ns and now_ns < self._next_timer_ns


class StreamTurns:
    """Turns in which an agent checks the streams that are not active: a part of them in each duty cycle.

    All of them are checked once in TURN_NS, whether duty cycles are short or long; with up to QUIET_STREAMS_PER_CYCLE
    streams, in every duty cycle.
    """

    _next: int  # both are 0 in a new object of the compiled class
    _last_ns: int

    def __init__(self) -> None:
        self._turn_ns = TURN_NS

    def begin(self, count: int, now_ns: int) -> int:
        """Return how many of `count` streams to check in the duty cycle of `now_ns`, at most `count`."""
        elapsed_ns = now_ns - self._last_ns
        self._last_ns = now_ns
        if count <= operations.QUIET_STREAMS_PER_CYCLE or elapsed_ns >= self._turn_ns:
            return count
        # Rounded up, so that a turn is not longer.
        return max(operations.QUIET_STREAMS_PER_CYCLE, elapsed_ns * count // self._turn_ns + 1)

    def next(self, count: int) -> int:
        """Return the index of the next of `count` streams, from 0 to `count` - 1."""
        if self._next >= count:
            self._next = 0
        index = self._next
        self._next += 1
        return index
