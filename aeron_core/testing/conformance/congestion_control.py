"""Conformance tests of congestion control: the properties that an image relies on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from random import Random
from typing import Final

from aeron_core.spi.congestion_control import (
    CongestionControl,
    CongestionControlParams,
    CongestionControlStrategy,
    RebuildState,
    adapt_congestion_control,
)
from aeron_core.testing.probes import CongestionControlProbe

_MS: Final = 1_000_000
_STEPS: Final = 2000


class CongestionControlConformance(ABC):
    """Suite for a congestion control: subclass as `Test…` and override `make`."""

    #: Argument of `make`; some tests change it.
    params = CongestionControlParams(
        channel="aeron:udp?endpoint=127.0.0.1:20121",
        stream_id=1001,
        session_id=7,
        registration_id=1,
        term_length=1024 * 1024,
        sender_mtu=1408,
        initial_window_length=128 * 1024,
        socket_rcvbuf_length=256 * 1024,
        source="127.0.0.1:30000",
    )

    @abstractmethod
    def make(self, params: CongestionControlParams) -> CongestionControl | CongestionControlStrategy:
        """Return a new strategy."""

    def test_the_initial_window_is_open_and_within_the_maximum(self) -> None:
        """A closed window stops the stream; the maximum is the largest window that may be offered."""
        probe = self._probe()
        assert 0 < probe.initial_window_length() <= probe.max_window_length()

    def test_no_window_is_larger_than_half_a_term(self) -> None:
        """An image drops frames more than half a term beyond its last status message."""
        params = replace(self.params, term_length=65536, initial_window_length=1024 * 1024)
        probe = self._probe(params)
        assert probe.initial_window_length() <= 32768
        assert probe.max_window_length() <= 32768
        assert max(self._windows(probe, params)) <= 32768

    def test_a_window_stays_open_and_within_the_maximum(self) -> None:
        """Losses and varying round-trip times do not close the window."""
        probe = self._probe()
        for window in self._windows(probe, self.params):
            assert 0 < window <= probe.max_window_length(), f"window of {window}"

    def test_the_initial_and_maximum_window_do_not_change(self) -> None:
        """Both lengths may be read at any time, and more than once."""
        probe = self._probe()
        before = (probe.initial_window_length(), probe.max_window_length())
        self._windows(probe, self.params)
        assert (probe.initial_window_length(), probe.max_window_length()) == before

    def test_any_round_trip_time_may_be_measured(self) -> None:
        """Measurements depend on the peer: no value may raise an exception or close the window."""
        probe = self._probe()
        for now_ns, rtt_ns in enumerate((0, 1, 10**6, 10**9, 2**62)):
            probe.should_measure_rtt(now_ns)
            probe.on_rtt_measurement_sent(now_ns)
            probe.on_rtt_measurement(now_ns, rtt_ns)
            assert probe.on_track_rebuild(_state(now_ns, 0, 0, is_lost=False)) > 0, f"rtt_ns={rtt_ns}"

    def test_equal_calls_have_equal_results(self) -> None:
        """Time is an argument: a strategy with its own clock or random numbers cannot be simulated."""
        assert self._windows(self._probe(), self.params) == self._windows(self._probe(), self.params)

    def _probe(self, params: CongestionControlParams | None = None) -> CongestionControlProbe:
        strategy = adapt_congestion_control(self.make(params or self.params), _raise)
        return CongestionControlProbe(strategy)

    def _windows(self, probe: CongestionControlProbe, params: CongestionControlParams) -> list[int]:
        """Return the windows in bytes of a stream with occasional losses, one for each step of 1 ms."""
        random = Random(1)
        position = 0
        windows = []
        for step in range(_STEPS):
            now_ns = step * _MS
            if probe.should_measure_rtt(now_ns):
                probe.on_rtt_measurement_sent(now_ns)
                probe.on_rtt_measurement(now_ns, random.randrange(1, 10 * _MS))
            before, position = position, position + random.randrange(params.sender_mtu * 10)
            windows.append(
                probe.on_track_rebuild(_state(now_ns, before, position, is_lost=random.random() < 0.05))
            )
        return windows


def _state(now_ns: int, before: int, after: int, *, is_lost: bool) -> RebuildState:
    state = RebuildState()
    state.now_ns = now_ns
    state.consumption_position = before
    state.last_sm_position = before
    state.hwm_position = after
    state.rebuild_position_before = before
    state.rebuild_position_after = before if is_lost else after
    state.loss_occurred = is_lost
    state.force_status_message = False
    return state


def _raise(error: BaseException) -> None:
    raise AssertionError(
        f"the strategy raised {error!r}: none of its methods may raise an exception"
    ) from error
