"""CUBIC congestion control: after a loss the window shrinks by a fifth, then grows along a cubic curve.

    W(t) = C * (t - K)^3 + W_max,  K = cbrt(W_max * B / C),  t in seconds since the last loss

W counts datagrams of the sender's mtu, and W_max is its value at the last loss: the curve is steep at first,
flat around W_max, which it reaches after K, and steep again beyond. Before the first loss W_max is the
largest window, and t begins with the image. The window has from one datagram up to the largest window. It
grows at most once per initial round-trip time, independent of measurements. While the curve is below W_max,
TCP mode uses a line instead if it is higher:

    W_tcp(t) = W_max * (1 - B) + 3 * B / (2 - B) * t / rtt

Measured round-trip times are published in a counter; the window depends on them in TCP mode only.

Source: aeron_congestion_control.c, aeron_cubic_congestion_control_strategy; RFC 8312.
"""

from __future__ import annotations

from typing import Final

import cython
from cython.cimports.libc.math import cbrt

from aeron_core._native import wire
from aeron_core.concurrent import counter_types
from aeron_core.errors import ChannelUriError
from aeron_core.spi.congestion_control import CongestionControl, CongestionControlParams, RebuildState

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

# Source: aeron_congestion_control.c.
_C: Final = 0.4
_B: Final = 0.2
_INITIAL_WINDOW = 10  # datagrams
_RTT_TIMEOUT_MULTIPLE = 4

_RTT_COUNTER_NAME: Final = "rcv-cc-cubic-rtt"
_WINDOW_COUNTER_NAME: Final = "rcv-cc-cubic-wnd"

_NS_OF_SECOND = 1e9
# Invented: longer than any plausible round trip, as long as the default image liveness timeout.
_LONGEST_RTT_NS = 10_000_000_000
# Invented: the interval of unanswered measurements doubles, to at most this one. In the reference it stays the same.
_LONGEST_RTT_TIMEOUT_NS = 1_000_000_000


class CubicCongestionControl(CongestionControl):
    """CUBIC window of one image.

    Settings control round-trip measurement, the initial round-trip time and TCP mode. The constructor raises
    ChannelUriError for options in `cc=`, because there are none, and StorageError if no counter is free.
    """

    @staticmethod
    def check_options(options: str) -> None:
        """Raise ChannelUriError unless `options`, the text after the name in `cc=`, is empty."""
        if options:
            raise ChannelUriError(
                f"cc=cubic,{options}: must be cubic without options: remove them from cc= of the channel or, if it has "
                "no cc=, from the setting congestion_control"
            )

    def __init__(self, params: CongestionControlParams) -> None:
        self.check_options(params.options)
        self._mtu = params.sender_mtu
        self._measures_rtt = params.measures_rtt
        self._is_tcp_mode = params.is_tcp_mode
        self._initial_rtt_ns = min(max(params.initial_rtt_ns, 1), _LONGEST_RTT_NS)
        self._max_window_length = min(params.initial_window_length, params.term_length // 2)
        self._max_window = self._max_window_length // self._mtu
        self._window = min(self._max_window, _INITIAL_WINDOW)
        self._initial_window_length = self._window * self._mtu
        self._window_at_loss = self._max_window
        self._time_to_recover_s = cbrt(self._window_at_loss * _B / _C)
        self._time_of_loss_ns = params.now_ns
        self._time_of_update_ns = params.now_ns
        self._rtt_ns = self._initial_rtt_ns
        # The deadline has passed already, so that the first measurement is sent at once.
        self._rtt_timeout_ns = self._initial_rtt_ns * _RTT_TIMEOUT_MULTIPLE
        self._rtt_deadline_ns = params.now_ns
        self._rtt_counter = params.new_counter(counter_types.PER_IMAGE, _RTT_COUNTER_NAME)
        self._window_counter = params.new_counter(counter_types.PER_IMAGE, _WINDOW_COUNTER_NAME)
        self._window_counter.set_release(self._initial_window_length)

    def on_track_rebuild(self, state: RebuildState) -> int:
        """Return the window at `state.now_ns`, in bytes, and publish it in a counter.

        Forces a status message after a loss, and, if the window is one datagram, when data was consumed.
        """
        if state.loss_occurred:
            self._shrink(state.now_ns)
            state.force_status_message = True
        else:
            if (
                self._window < self._max_window
                and state.now_ns > self._time_of_update_ns + self._initial_rtt_ns
            ):
                self._grow(state.now_ns)
            if self._window == 1 and state.consumption_position > state.last_sm_position:
                # With a window of one datagram, the sender waits for a status message after each datagram. The
                # reference forces none in a cycle in which the window may grow: it calls its strategy in every cycle.
                state.force_status_message = True
        length = self._window * self._mtu
        self._window_counter.set_release(length)
        return length

    def _shrink(self, now_ns: int) -> int:
        self._window_at_loss = self._window
        self._time_to_recover_s = cbrt(self._window_at_loss * _B / _C)
        self._window = max(cython.cast(cython.int, self._window * (1.0 - _B)), 1)
        self._time_of_loss_ns = now_ns
        return 0

    def _grow(self, now_ns: int) -> int:
        since_loss_s = (now_ns - self._time_of_loss_ns) / _NS_OF_SECOND
        to_recovery_s = since_loss_s - self._time_to_recover_s
        window = self._window_at_loss + _C * to_recovery_s * to_recovery_s * to_recovery_s
        if self._is_tcp_mode and window < self._window_at_loss:
            round_trips = since_loss_s / (self._rtt_ns / _NS_OF_SECOND)
            window = max(window, self._window_at_loss * (1.0 - _B) + 3.0 * _B / (2.0 - _B) * round_trips)
        # Compare as a double: after a long time, the value exceeds the range of every integer type.
        if window >= self._max_window:
            self._window = self._max_window
        else:
            self._window = max(cython.cast(cython.int, window), 1)
        self._time_of_update_ns = now_ns
        return 0

    def should_measure_rtt(self, now_ns: int) -> bool:
        """Return whether a round-trip measurement is due; always False if the settings disable them."""
        return self._measures_rtt and now_ns >= self._rtt_deadline_ns

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """Schedule a repetition for the case of no reply; return 0.

        Each repetition without a reply in between doubles the interval, to at most 1 s.
        """
        self._rtt_deadline_ns = now_ns + self._rtt_timeout_ns
        self._rtt_timeout_ns = min(self._rtt_timeout_ns * 2, _LONGEST_RTT_TIMEOUT_NS)
        return 0

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """Store and publish the round-trip time, limited to 10 s, and schedule the next measurement; return 0.

        It is due after four times the round-trip time, or four times the initial one if that is longer.
        """
        self._rtt_ns = min(max(rtt_ns, 1), _LONGEST_RTT_NS)
        self._rtt_counter.set_release(self._rtt_ns)
        self._rtt_timeout_ns = max(self._rtt_ns, self._initial_rtt_ns) * _RTT_TIMEOUT_MULTIPLE
        self._rtt_deadline_ns = now_ns + self._rtt_timeout_ns
        return 0

    def initial_window_length(self) -> int:
        """See `CongestionControl.initial_window_length`."""
        return self._initial_window_length

    def max_window_length(self) -> int:
        """See `CongestionControl.max_window_length`."""
        return self._max_window_length
