"""Outage of a resilient client: when its driver was last alive, and since when something is missing.

Not here: the detection of a loss, and the restoration (supervisor).
Invariant: an outage begins when the driver was last alive before a loss, and includes further losses until it ends.
"""

from __future__ import annotations

from typing import Final

_NS_PER_S: Final = 1_000_000_000
# After a longer break of the supervisor its process was stopped or starved: the driver may have timed it out before. An
# invented number, far above the check interval and below the client liveness timeout of a driver.
_BREAK_NS: Final = 2 * _NS_PER_S


class Outage:
    """The times of the outages of one client, on its clock. For the thread of the supervisor.

    The supervisor's lock guards `begin_ns`, which other threads read.
    """

    def __init__(self, now_ns: int) -> None:
        #: When the outage began; None while everything is restored.
        self.begin_ns: int | None = None
        # When the client was lost for the last time: later than `begin_ns` if something was still missing.
        self._lost_ns = 0
        self._alive_ns = self._stepped_ns = now_ns
        self._heartbeat_ms = 0

    def note_heartbeat(self, heartbeat_ms: int, now_ns: int) -> None:
        """Record when the driver's heartbeat changed; not after a break, which may have timed the client out."""
        was_broken = now_ns - self._stepped_ns > _BREAK_NS
        self._stepped_ns = now_ns
        if heartbeat_ms != self._heartbeat_ms and not was_broken:
            self._heartbeat_ms = heartbeat_ms
            if heartbeat_ms > 0:
                self._alive_ns = now_ns

    def note_connection(self, heartbeat_ms: int, now_ns: int) -> None:
        """Record that a driver with this heartbeat is alive; the outage lasts until everything is restored."""
        self._heartbeat_ms, self._alive_ns, self._stepped_ns = heartbeat_ms, now_ns, now_ns

    def note_loss(self) -> int:
        """Record that the client is lost, and return when the outage began, which may have been an earlier loss."""
        self._lost_ns = self._alive_ns
        if self.begin_ns is None:
            self.begin_ns = self._alive_ns
        return self.begin_ns

    def end(self) -> None:
        """Record that everything is restored."""
        self.begin_ns = None

    def elapsed_s(self, now_ns: int) -> float:
        """Return the seconds since the outage began, 0 if there is none."""
        return 0.0 if self.begin_ns is None else (now_ns - self.begin_ns) / _NS_PER_S

    def since_loss_s(self, now_ns: int) -> float:
        """Return the seconds since the client was lost for the last time."""
        return (now_ns - self._lost_ns) / _NS_PER_S

    def silent_s(self, now_ns: int) -> float:
        """Return the seconds since the driver was last alive."""
        return (now_ns - self._alive_ns) / _NS_PER_S
