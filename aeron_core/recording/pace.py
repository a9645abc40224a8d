"""How often a recorder looks for something new.

Not here: the waiting itself, which whoever runs the recorder can end.
"""

from __future__ import annotations

from typing import Final

# Invented numbers: what a look adds to the latency of a message, against what a thousand of them a second cost a
# core. A stream that pauses for less than the silence is looked at as if it did not.
SHORTEST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.01
SILENCE_S: Final = 0.1


class Pace:
    """Pauses between looks; one thread uses it."""

    def __init__(self) -> None:
        self._paused_s = 0.0  # since something came

    def pause_after(self, work: int) -> float:
        """Return for how many seconds to wait after a look that found `work`, 0 where it found any."""
        if work > 0:
            self._paused_s = 0.0
            return 0.0
        pause_s = SHORTEST_PAUSE_S if self._paused_s < SILENCE_S else LONGEST_PAUSE_S
        self._paused_s += pause_s
        return pause_s
