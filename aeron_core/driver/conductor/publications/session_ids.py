"""Which session id a new publication gets."""

from __future__ import annotations

from collections.abc import Container


def _wrap(value: int) -> int:
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


class SessionIds:
    """Counts up from a random start, past a reserved range and what is in use.

    Source: aeron_driver_conductor.c, aeron_driver_conductor_speculate_next_session_id.
    """

    def __init__(self, start: int, reserved_low: int, reserved_high: int) -> None:
        self._next = _wrap(start)
        self._low = reserved_low
        self._high = reserved_high

    def peek(self, used: Container[int]) -> int:
        """Return the id that `take` would return."""
        candidate = self._skip_reserved(self._next)
        while candidate in used:
            candidate = self._skip_reserved(_wrap(candidate + 1))
        return candidate

    def take(self, used: Container[int]) -> int:
        """Return an int32 that is neither reserved nor in `used`; the next call goes on behind it."""
        session_id = self.peek(used)
        self._next = _wrap(session_id + 1)
        return session_id

    def _skip_reserved(self, candidate: int) -> int:
        return _wrap(self._high + 1) if self._low <= candidate <= self._high else candidate
