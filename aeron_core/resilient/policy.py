"""When a resilient client tries again: delays that grow, their bound, and when it gives up."""

from __future__ import annotations

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen

_NS_PER_S = 1_000_000_000


@frozen(slots=True, kw_only=True)
class ReconnectPolicy:
    """Delays and limits of reconnecting; all defaults are invented.

    A wrong value raises ConfigurationError.
    """

    initial_delay_s: float = 0.05
    """Seconds between the first failed attempt and the second one; the first attempt is immediate."""
    max_delay_s: float = 5.0
    """Upper bound of the delay in seconds."""
    multiplier: float = 2.0
    """Factor by which the delay grows after each failed attempt, at least 1."""
    max_attempts: int | None = None
    """Failed attempts to connect in a row after which the client gives up and closes; None: no limit."""
    max_elapsed_s: float | None = None
    """Seconds since the loss after which a failed attempt is the last one; None: no limit."""
    event_interval_s: float = 1.0
    """Minimum seconds between two `ReconnectFailed` events, and between two `RestoreFailed` of one resource."""
    check_interval_s: float = 0.1
    """Seconds between two checks whether another driver has replaced `cnc.dat`, while the client is connected."""

    def __post_init__(self) -> None:
        for name in ("initial_delay_s", "max_delay_s", "check_interval_s"):
            _check(name, getattr(self, name), getattr(self, name) > 0, "more than 0")
        _check("multiplier", self.multiplier, self.multiplier >= 1, "at least 1")
        _check("event_interval_s", self.event_interval_s, self.event_interval_s >= 0, "at least 0")
        if self.max_attempts is not None:
            _check("max_attempts", self.max_attempts, self.max_attempts >= 1, "at least 1, or None")
        if self.max_elapsed_s is not None:
            _check("max_elapsed_s", self.max_elapsed_s, self.max_elapsed_s >= 0, "at least 0, or None")


def _check(name: str, value: float, is_right: bool, allowed: str) -> None:
    if not is_right:
        raise ConfigurationError(f"{name}={value!r} of ReconnectPolicy: must be {allowed}")


class Retry:
    """The attempts of one thing: when the next one is due, and whether to report a failure."""

    def __init__(self, policy: ReconnectPolicy) -> None:
        self.attempts = 0
        self.due_ns = 0
        self._policy = policy
        self._delay_s = policy.initial_delay_s
        self._reported_ns: int | None = None

    def reset(self) -> None:
        """Make the next attempt the first one, due at once."""
        self.attempts = 0
        self.due_ns = 0
        self._delay_s = self._policy.initial_delay_s
        self._reported_ns = None

    def failed(self, now_ns: int) -> float:
        """Count a failed attempt and return the seconds until the next one."""
        self.attempts += 1
        return self.postpone(now_ns)

    def postpone(self, now_ns: int) -> float:
        """Delay the next attempt, and return by how many seconds, longer each time."""
        delay_s = min(self._delay_s, self._policy.max_delay_s)
        self._delay_s = delay_s * self._policy.multiplier
        self.due_ns = now_ns + int(delay_s * _NS_PER_S)
        return delay_s

    def is_reported(self, now_ns: int) -> bool:
        """Return whether to report a failure at `now_ns`; True at most once per event interval."""
        interval_ns = int(self._policy.event_interval_s * _NS_PER_S)
        if self._reported_ns is not None and now_ns - self._reported_ns < interval_ns:
            return False
        self._reported_ns = now_ns
        return True
