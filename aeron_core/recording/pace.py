"""Pauses of an idle recorder.

Not here: the waiting itself, which the recorder's caller can interrupt.
"""

from __future__ import annotations

from typing import Final

# Invented numbers: a compromise between the latency of a message and the CPU time of a thousand polls per second.
# Pauses become longer only after SILENCE_S without work, so that short gaps in a stream do not delay messages.
SHORTEST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.01
SILENCE_S: Final = 0.1


class Pace:
    """Pauses between duty cycles; one thread uses it."""

    def __init__(self) -> None:
        self._paused_s = 0.0  # since the last work

    def pause_after(self, work: int) -> float:
        """Return the seconds to wait after a duty cycle with work count `work`.

        0 if there was work, else 0.001, or 0.01 after a silence of 0.1 s.
        """
        if work > 0:
            self._paused_s = 0.0
            return 0.0
        pause_s = SHORTEST_PAUSE_S if self._paused_s < SILENCE_S else LONGEST_PAUSE_S
        self._paused_s += pause_s
        return pause_s
