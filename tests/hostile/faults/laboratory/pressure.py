"""CPU pressure of the machine, by which bounds on wall time are extended.

A bound such as "flows again within 12 s" supposes that the processes run when they are due. On a machine that is
overloaded by other programs they wait for a processor, and that is no defect of theirs.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

PRESSURE: Final = Path("/proc/pressure/cpu")
#: Maximum extension of a bound, in multiples of it. Invented: a system that needs four times as long is not only slow.
MOST: Final = 3
_TOTAL = re.compile(r"some .* total=(\d+)")


def stalled_s(path: Path = PRESSURE) -> float:
    """Return the seconds since boot in which at least one task waited for a processor; 0.0 if it is not measured."""
    try:
        found = _TOTAL.search(path.read_text(encoding="ascii"))
    except OSError:  # a kernel without pressure stall information
        return 0.0
    return int(found[1]) / 1e6 if found else 0.0


class Bound:
    """Bound of a wait: `seconds`, and the time in which tasks waited for a processor, at most MOST times as much."""

    def __init__(self, seconds: float, path: Path = PRESSURE) -> None:
        self._seconds, self._path = seconds, path
        self._start_s, self._start_stalled_s = time.monotonic(), stalled_s(path)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start_s

    @property
    def stalled_s(self) -> float:
        """Seconds since the start in which at least one task waited for a processor."""
        return stalled_s(self._path) - self._start_stalled_s

    def is_over(self) -> bool:
        """Return whether the time is up."""
        return self.elapsed_s > self._seconds + min(self.stalled_s, MOST * self._seconds)

    def __str__(self) -> str:
        return f"tasks waited for a processor in {self.stalled_s:.1f} of {self.elapsed_s:.1f} s"
