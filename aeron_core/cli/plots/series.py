"""Values over time with a limited number of points, so that histories of any length can be drawn."""

from __future__ import annotations

import math
from typing import Final

# Invented: a plot is 1200 pixels wide.
_MAX_POINTS: Final = 4096


class Series:
    """One line of a plot. From 4096 points on, two become one, again and again: memory is bounded.

    `keeps_peaks`: of two points the higher value stays, for lags; else the later one, for positions and counts.
    """

    def __init__(self, label: str, *, keeps_peaks: bool = False) -> None:
        self.label: Final = label
        self.times: list[float] = []
        self.values: list[float] = []
        self._keeps_peaks = keeps_peaks
        self._stride = 1
        self._count = 0
        self._pending: float | None = None

    def add(self, time_s: float, value: float) -> None:
        """Add a value; times increase."""
        if self._pending is not None and self._keeps_peaks:
            value = max(self._pending, value)
        self._pending = value
        self._count += 1
        if self._count % self._stride:
            return
        self.times.append(time_s)
        self.values.append(value)
        self._pending = None
        if len(self.times) >= _MAX_POINTS:
            self._halve()

    def _halve(self) -> None:
        pairs = zip(self.values[::2], self.values[1::2], strict=True)
        self.values = [max(pair) if self._keeps_peaks else pair[1] for pair in pairs]
        self.times = self.times[1::2]
        self._stride *= 2

    def rates(self) -> Series:
        """Return the changes per second between the points; NaN, a gap, where a value has decreased.

        Likewise where times of a damaged history are too close to each other for a float.
        """
        found = Series(self.label)
        found.times = self.times[1:]
        found.values = [
            (value - before) / (time_s - before_s) if value >= before and time_s > before_s else math.nan
            for before, value, before_s, time_s in zip(
                self.values, self.values[1:], self.times, self.times[1:], strict=False
            )
        ]
        return found

    @property
    def peak(self) -> float:
        """The highest value, 0 without one."""
        return max((value for value in self.values if not math.isnan(value)), default=0.0)
