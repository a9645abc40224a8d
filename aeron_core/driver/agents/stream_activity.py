"""Streams that an agent visits: active ones in every duty cycle, quiet ones when a timer is due or their log changes.

A client that writes to a log need not notify the driver, so each log has to be looked at. Visiting all streams in every
duty cycle would make an active stream wait for idle ones, and keep an idle driver busy. What a quiet stream waits for
is in a packed list, in which a thousand of them are checked in microseconds.
Invariant: a stream is either in the list of active streams of its agent or in that of quiet ones, once.
"""

from __future__ import annotations

from typing import Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.pointers import PointerList, QuietList
from aeron_core.driver._native import operations

#: Time in which each quiet stream is checked once, however many there are. Invented: the longest sleep of the default
#: idle strategies, so that the first message after a pause waits no longer because of other streams.
TURN_NS: Final = 1_000_000
#: Time after the last movement of a stream for which it counts as active. Invented: a stream with 100 messages a second
#: is visited in every duty cycle, and 10,000 streams with one message a second are a hundred active ones.
ACTIVE_NS: Final = 10_000_000
#: Longest interval in which a quiet stream is visited for its timers: that of SETUPs and heartbeats.
TIMER_NS: Final = wire.HEARTBEAT_INTERVAL_NS
#: The same for a stream without timers. Invented: one whose change was not announced is visited at last.
RARE_NS: Final = 1_000_000_000


class StreamActivity:
    """Membership of one stream in the active streams of its agent; used on the thread of the agent."""

    _until_ns: int  # all three are 0 in a new object of the compiled class
    _next_timer_ns: int
    _phase: int

    def __init__(self, timer_interval_ns: int = TIMER_NS) -> None:
        self._active_ns = ACTIVE_NS
        self._timer_interval_ns = timer_interval_ns
        self._index = -1

    def join(self, active: PointerList, quiet: QuietList, stream: object) -> int:
        """Become active in the lists of the agent, which must outlive the stream; return 0."""
        self._active = cython.cast(cython.pointer(PyObject), active)
        self._quiet = cython.cast(cython.pointer(PyObject), quiet)
        self._stream = stream
        joins: int = quiet.joins  # type: ignore[attr-defined]
        self._phase = joins // operations.STREAMS_PER_PHASE * operations.PHASE_STEP % operations.PHASES
        quiet.joins = joins + 1  # type: ignore[attr-defined]
        cython.cast(PointerList, self._active).append(self._stream)
        return 0

    def leave(self) -> int:
        """Leave both lists for good; return 0."""
        if self._index >= 0:
            cython.cast(QuietList, self._quiet).remove(self._index)
        elif self._active != cython.NULL:
            cython.cast(PointerList, self._active).remove(self._stream)
        self._active = cython.NULL
        return 0

    def wake(self) -> int:
        """Have the agent visit the stream in each of the next duty cycles; return 0."""
        if self._index >= 0:
            cython.cast(PointerList, self._active).append(self._stream)
            cython.cast(QuietList, self._quiet).remove(self._index)
        return 0

    def calm(self, tails: object, seen: int, attention: int) -> int:
        """Become quiet until the next timer, or until the sum of `tails` in the log is not `seen`; return 0.

        The agent removes the stream from the list of active ones. `tails` may be NULL; `attention`: see `QuietList`.
        """
        return cython.cast(QuietList, self._quiet).add(
            cython.cast(cython.pointer(PyObject), self),
            cython.address(self._index),
            self._next_timer_ns,
            tails,
            seen,
            attention,
        )

    def hurry(self) -> int:
        """Have the agent visit the stream in its next duty cycle, and check its timers: one may be due; return 0."""
        self._next_timer_ns = 0
        return self.wake()

    def move(self, now_ns: int) -> None:
        """Keep the stream active for ACTIVE_NS: something moved, or can."""
        self._until_ns = now_ns + self._active_ns

    def visit(self, now_ns: int) -> None:
        """Note that the timers of the stream are checked now: the next time is at most the interval later."""
        self._next_timer_ns = now_ns + self._timer_interval_ns

    def next_timer_ns(self) -> int:
        """Return when the stream is to be visited for its timers."""
        return self._next_timer_ns

    def due_ns(self, last_ns: int, interval_ns: int) -> int:
        """Return when a frame sent at `last_ns` is due again: after the interval, or up to a tenth of it earlier.

        Earlier until the frames of the stream are in its phase. Streams that joined one after the other share a phase,
        and so the wake-ups of their agent and of its peers. Others have another one: a receive buffer need not hold the
        frames of all streams, even if the agent did not run when they were due.
        """
        # Time from the phase to the end of the interval.
        ahead_ns = (last_ns + interval_ns - self._phase * (interval_ns // operations.PHASES)) % interval_ns
        return last_ns + interval_ns - min(ahead_ns, interval_ns // 10)

    def remind(self, time_ns: int) -> int:
        """Check the timers at `time_ns`, if that is earlier; return 0."""
        self._next_timer_ns = min(self._next_timer_ns, time_ns)
        return 0

    def is_over(self, now_ns: int) -> bool:
        """Return whether nothing moved for ACTIVE_NS, and no timer is due."""
        return now_ns > self._until_ns and now_ns < self._next_timer_ns


class StreamTurns:
    """Turns in which an agent checks the quiet streams: a part of them in each duty cycle.

    All of them are checked once in TURN_NS, whether duty cycles are short or long; with up to QUIET_STREAMS_PER_CYCLE
    streams, in every duty cycle.
    """

    _last_ns: int  # 0 in a new object of the compiled class

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
