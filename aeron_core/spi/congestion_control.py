"""How much a receiver offers to take: progress in, a window out.

The counterpart of `flow_control` on the receiver thread, with the same two kinds of strategies.

No method is called for a data frame. `on_rtt_measurement` is called for each answer to a measurement. Of a compiled
strategy `should_measure_rtt` is called in every duty cycle, and `on_track_rebuild` in every one in which subscribers
or received data have moved, or a gap is open. Of one in Python each is called every 100 ms at most
(`adapt.PYTHON_CALL_INTERVAL_NS`): meanwhile the last window stands and nothing is measured. What happened meanwhile
`on_track_rebuild` is told with the next movement: where it began, and whether anything was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import cython

from aeron_core.spi.adapt import PYTHON_CALL_INTERVAL_NS, python_methods, require_methods
from aeron_core.spi.stream_counter import CounterFactory, detached_counter

METHODS: Final = (
    "on_track_rebuild",
    "on_rtt_measurement_sent",
    "on_rtt_measurement",
    "should_measure_rtt",
    "initial_window_length",
    "max_window_length",
)


@dataclass(frozen=True)
class CongestionControlParams:
    """What a congestion-control factory may know of the image that it serves; lengths are bytes.

    `now_ns` is when the image is made. `measures_rtt`, `initial_rtt_ns` and `is_tcp_mode` are the settings
    `cubic_…`, for whoever may want to follow them. `new_counter` takes a type and a name and returns a counter of
    this image, which tools see while it lives.
    """

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
    now_ns: int = 0
    measures_rtt: bool = False
    initial_rtt_ns: int = 100_000
    is_tcp_mode: bool = False
    new_counter: CounterFactory = detached_counter


class RebuildState:
    """What happened to an image since the last call; reused, valid during the call only. Positions are bytes."""

    now_ns: int
    consumption_position: int
    last_sm_position: int
    hwm_position: int
    rebuild_position_before: int
    rebuild_position_after: int
    loss_occurred: bool
    force_status_message: bool


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

        Set `state.force_status_message` to have a status message sent at once.
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
    """Runs a strategy whose methods are written in Python, taking the GIL for each call; the module says when.

    What the strategy leaves out, its compiled base does. A strategy that raises is reported once; from then
    on its last window stays.
    """

    def __init__(
        self, strategy: CongestionControl | CongestionControlStrategy, report: Callable[[BaseException], None]
    ) -> None:
        methods = python_methods(strategy, METHODS)
        self._report = report
        self._is_broken = False
        if isinstance(strategy, CongestionControl):
            self._native = strategy
        else:
            require_methods(
                strategy,
                "congestion control",
                methods,
                ("on_track_rebuild", "initial_window_length", "max_window_length"),
            )
            self._native = CongestionControl()
        self._on_track_rebuild = methods.get("on_track_rebuild")
        self._on_rtt_measurement_sent = methods.get("on_rtt_measurement_sent")
        self._on_rtt_measurement = methods.get("on_rtt_measurement")
        self._should_measure_rtt = methods.get("should_measure_rtt")
        self._interval_ns = PYTHON_CALL_INTERVAL_NS
        self._rebuild_deadline_ns = 0
        self._measure_deadline_ns = 0
        self._untold_since = -1
        self._has_untold_loss = False
        # Asked once, so that neither can change its mind nor fail later.
        initial, maximum = methods.get("initial_window_length"), methods.get("max_window_length")
        self._window = self._native.initial_window_length() if initial is None else initial()
        self._initial_window = self._window
        self._max_window = self._native.max_window_length() if maximum is None else maximum()

    def on_track_rebuild(self, state: RebuildState) -> int:
        """See `CongestionControl.on_track_rebuild`."""
        if self._is_broken:
            return self._window
        if self._on_track_rebuild is None:
            self._window = self._native.on_track_rebuild(state)
            return self._window
        if self._untold_since < 0:
            self._untold_since = state.rebuild_position_before
        if state.loss_occurred:
            self._has_untold_loss = True
        if state.now_ns < self._rebuild_deadline_ns:
            return self._window
        self._rebuild_deadline_ns = state.now_ns + self._interval_ns
        state.rebuild_position_before = self._untold_since
        state.loss_occurred = self._has_untold_loss
        self._untold_since = -1
        self._has_untold_loss = False
        with cython.gil:
            try:
                self._window = self._on_track_rebuild(state)
            except Exception as error:
                self._fail(error)
        return self._window

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement_sent`."""
        if not self._is_broken and self._on_rtt_measurement_sent is not None:
            with cython.gil:
                try:
                    self._on_rtt_measurement_sent(now_ns)
                    return 0
                except Exception as error:
                    self._fail(error)
        return self._native.on_rtt_measurement_sent(now_ns)

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement`."""
        if not self._is_broken and self._on_rtt_measurement is not None:
            with cython.gil:
                try:
                    self._on_rtt_measurement(now_ns, rtt_ns)
                    return 0
                except Exception as error:
                    self._fail(error)
        return self._native.on_rtt_measurement(now_ns, rtt_ns)

    def should_measure_rtt(self, now_ns: int) -> bool:
        """See `CongestionControl.should_measure_rtt`."""
        if not self._is_broken and self._should_measure_rtt is not None:
            if now_ns < self._measure_deadline_ns:
                return False
            self._measure_deadline_ns = now_ns + self._interval_ns
            with cython.gil:
                try:
                    return bool(self._should_measure_rtt(now_ns))
                except Exception as error:
                    self._fail(error)
        return self._native.should_measure_rtt(now_ns)

    def initial_window_length(self) -> int:
        """See `CongestionControl.initial_window_length`."""
        return self._initial_window

    def max_window_length(self) -> int:
        """See `CongestionControl.max_window_length`."""
        return self._max_window

    def _fail(self, error: BaseException) -> None:
        self._is_broken = True
        self._report(error)


def adapt_congestion_control(
    strategy: CongestionControl | CongestionControlStrategy, report: Callable[[BaseException], None]
) -> CongestionControl:
    """Return `strategy` if all of it is compiled, else an adapter; `report` takes its first exception."""
    if isinstance(strategy, CongestionControl) and not python_methods(strategy, METHODS):
        return strategy
    return PythonCongestionControl(strategy, report)


def initial_window_length_of(strategy: CongestionControl) -> int:
    """Return the strategy's initial window; compiled methods cannot be called from Python."""
    return strategy.initial_window_length()
