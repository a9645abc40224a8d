"""How much a receiver offers to take: progress in, a window out.

The counterpart of `flow_control` on the receiver thread, with the same two kinds of strategies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import cython


@dataclass(frozen=True)
class CongestionControlParams:
    """What a congestion-control factory may know of the image that it serves; lengths are bytes."""

    channel: str
    stream_id: int
    session_id: int
    registration_id: int
    term_length: int
    sender_mtu: int
    initial_window_length: int
    socket_rcvbuf_length: int
    source: str
    options: str = ""


class RebuildState:
    """What happened to an image since the last call; reused, valid during the call only."""


class CongestionControlStrategy(Protocol):
    """The methods of a strategy in plain Python; see `CongestionControl` for what each must do."""

    def on_track_rebuild(self, state: RebuildState) -> int:
        """Return the receiver window in bytes."""

    def on_rtt_measurement_sent(self, now_ns: int) -> None:
        """Take note that a measurement is under way."""

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> None:
        """Take a measured round-trip time."""

    def should_measure_rtt(self, now_ns: int) -> bool:
        """Return whether to start a measurement."""

    def initial_window_length(self) -> int:
        """Return the window before anything was received."""

    def max_window_length(self) -> int:
        """Return the largest window that will ever be offered."""


class CongestionControl:
    """Base of compiled strategies. All methods run on the receiver thread, without the GIL."""

    def on_track_rebuild(self, state: RebuildState) -> int:
        """Return the receiver window in bytes, at most half a term.

        Called when subscribers or received data have moved, or a gap is open. Set `state.force_status_message`
        to have a status message sent at once.
        """
        return self.initial_window_length()

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """Take note that a measurement is under way; return 0."""
        return 0

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """Take a measured round-trip time in nanoseconds; return 0."""
        return 0

    def should_measure_rtt(self, now_ns: int) -> bool:
        """Return whether a measurement should start now."""
        return False

    def initial_window_length(self) -> int:
        """Return the window before anything was received."""
        return 0

    def max_window_length(self) -> int:
        """Return the largest window that will ever be offered."""
        return self.initial_window_length()

    def _reserved_0(self) -> int:
        return 0

    def _reserved_1(self) -> int:
        return 0

    def _reserved_2(self) -> int:
        return 0

    def _reserved_3(self) -> int:
        return 0


class PythonCongestionControl(CongestionControl):
    """Runs a strategy that is written in plain Python, taking the GIL for each call.

    A strategy that raises is reported once; from then on its last window stays.
    """

    def __init__(
        self, strategy: CongestionControlStrategy, report: Callable[[BaseException], None]
    ) -> None:
        self._strategy = strategy
        self._report = report
        self._is_broken = False
        self._window = strategy.initial_window_length()

    def on_track_rebuild(self, state: RebuildState) -> int:
        """See `CongestionControl.on_track_rebuild`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    self._window = self._strategy.on_track_rebuild(state)
                except Exception as error:
                    self._fail(error)
        return self._window

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement_sent`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    self._strategy.on_rtt_measurement_sent(now_ns)
                except Exception as error:
                    self._fail(error)
        return 0

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    self._strategy.on_rtt_measurement(now_ns, rtt_ns)
                except Exception as error:
                    self._fail(error)
        return 0

    def should_measure_rtt(self, now_ns: int) -> bool:
        """See `CongestionControl.should_measure_rtt`."""
        if not self._is_broken:
            with cython.gil:
                try:
                    return bool(self._strategy.should_measure_rtt(now_ns))
                except Exception as error:
                    self._fail(error)
        return False

    def initial_window_length(self) -> int:
        """See `CongestionControl.initial_window_length`."""
        return self._window

    def max_window_length(self) -> int:
        """See `CongestionControl.max_window_length`."""
        with cython.gil:
            try:
                return self._strategy.max_window_length()
            except Exception as error:
                self._fail(error)
        return self._window

    def _fail(self, error: BaseException) -> None:
        self._is_broken = True
        self._report(error)


def initial_window_length_of(strategy: CongestionControl) -> int:
    """Return the strategy's initial window; compiled methods cannot be called from Python."""
    return strategy.initial_window_length()
