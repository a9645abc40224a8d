"""Congestion control: decides the receiver window of an image, from the progress of its rebuild.

    class HalfMebibyteWindow:
        def __init__(self, params: CongestionControlParams) -> None: ...
        def on_track_rebuild(self, state): return 512 * 1024
        def initial_window_length(self): return 512 * 1024
        def max_window_length(self): return 512 * 1024

The counterpart of `flow_control` on the receiver thread, with the same two kinds of strategies, compiled and Python.

When methods are called, never for a data frame:

    on_rtt_measurement_sent   when a measurement is sent
    on_rtt_measurement        for each plausible reply to it
    should_measure_rtt        in every duty cycle; while nothing arrives, with each status message
    on_track_rebuild          in every duty cycle in which subscribers or received data advanced, or a gap is open

The last two are called at most every 100 ms if they are written in Python (`adapt.PYTHON_CALL_INTERVAL_NS`). In
between, the last window applies and no measurement starts. The next call of `on_track_rebuild` describes the whole
interval: the position at which it began, and whether anything was lost in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import cython

from aeron_core.frozen import frozen
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


@frozen()
class CongestionControlParams:
    """Description of the image that a congestion-control factory creates a strategy for; lengths are bytes.

    `source` is the address of the sender, `options` the text after the strategy's name in `cc=`. `now_ns` is the
    creation time of the image on the monotonic clock. `measures_rtt`, `initial_rtt_ns` and `is_tcp_mode` are the
    settings `cubic_…`, for strategies that use them.
    `new_counter(type_id, name)` returns a counter of this image, visible to tools while the image exists.
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
    """Progress of an image since the last call; reused, valid during the call only. Positions are bytes.

    `rebuild_position_before` and `rebuild_position_after`: the position up to which there was no gap, before and after
    that progress. `consumption_position`: that of the slowest subscriber. `last_sm_position`: the consumed position in
    the last status message that was scheduled. `hwm_position`: the highest position received. `loss_occurred`: whether
    a new gap was found. `force_status_message` is set by the strategy.
    """

    now_ns: int
    consumption_position: int
    last_sm_position: int
    hwm_position: int
    rebuild_position_before: int
    rebuild_position_after: int
    loss_occurred: bool
    force_status_message: bool


class CongestionControlStrategy(Protocol):
    """The methods that a strategy in plain Python must have.

    It may also have the other methods of `CongestionControl`: `should_measure_rtt`, `on_rtt_measurement_sent`,
    `on_rtt_measurement`. They are not part of this protocol, so that type checkers accept a class without them.
    """

    def on_track_rebuild(self, state: RebuildState) -> int:
        """Return the receiver window in bytes."""

    def initial_window_length(self) -> int:
        """Return the window in bytes before anything was received."""

    def max_window_length(self) -> int:
        """Return the largest window in bytes that will ever be offered."""


class CongestionControl:
    """Base of compiled strategies. All methods run on the receiver thread, without the GIL.

    Lengths are bytes, times are nanoseconds of the monotonic clock.
    """

    def on_track_rebuild(self, state: RebuildState) -> int:
        """Return the receiver window in bytes; the driver lowers it to half a term.

        To send a status message in this duty cycle, set `state.force_status_message`.
        """
        return self.initial_window_length()

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """Handle the sending of a round-trip measurement; return 0."""
        return 0

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """Handle a measured round-trip time in nanoseconds; return 0."""
        return 0

    def should_measure_rtt(self, now_ns: int) -> bool:
        """Return whether a round-trip measurement should be sent now; the default is never."""
        return False

    def initial_window_length(self) -> int:
        """Return the window in bytes before anything was received."""
        return 0

    def max_window_length(self) -> int:
        """Return the largest window in bytes that will ever be offered."""
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
    """Adapter of a strategy with methods in Python; takes the GIL for each call. See the module docstring.

    Omitted methods are those of the compiled base. The first exception is reported; from then on the window no longer
    changes, and the compiled base handles all other calls.
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
        self._unreported_since = -1
        self._has_unreported_loss = False
        # Each of the two methods is called only here, so that its value cannot change and no later call can fail.
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
        if self._unreported_since < 0:
            self._unreported_since = state.rebuild_position_before
        if state.loss_occurred:
            self._has_unreported_loss = True
        if state.now_ns < self._rebuild_deadline_ns:
            return self._window
        self._rebuild_deadline_ns = state.now_ns + self._interval_ns
        state.rebuild_position_before = self._unreported_since
        state.loss_occurred = self._has_unreported_loss
        self._unreported_since = -1
        self._has_unreported_loss = False
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
    """Return `strategy` if it is compiled completely, otherwise an adapter, which reports its first exception.

    Raises PluginError if the strategy is in plain Python and lacks a method of `CongestionControlStrategy`, and the
    exceptions of its `initial_window_length` and `max_window_length`.
    """
    if isinstance(strategy, CongestionControl) and not python_methods(strategy, METHODS):
        return strategy
    return PythonCongestionControl(strategy, report)


def initial_window_length_of(strategy: CongestionControl) -> int:
    """Return the strategy's initial window in bytes; for callers in plain Python, which cannot call C methods."""
    return strategy.initial_window_length()
