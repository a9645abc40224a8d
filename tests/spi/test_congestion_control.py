import pytest
from aeron_congestion.static_window import StaticWindowCongestionControl

from aeron_core.errors import PluginError
from aeron_core.spi.adapt import PYTHON_CALL_INTERVAL_NS as INTERVAL_NS
from aeron_core.spi.congestion_control import (
    CongestionControl,
    CongestionControlParams,
    RebuildState,
    adapt_congestion_control,
    initial_window_length_of,
)
from aeron_core.testing import CongestionControlProbe

PARAMS = CongestionControlParams("aeron:udp?endpoint=a:1", 1, 2, 3, 65536, 1408, 4096, 131072, "b:1")


class Complete:
    """A strategy in plain Python with all methods."""

    def __init__(self):
        self.calls = []

    def on_track_rebuild(self, state):
        if state.now_ns == INTERVAL_NS:
            raise ZeroDivisionError
        state.force_status_message = state.loss_occurred
        return state.hwm_position // 2

    def on_rtt_measurement_sent(self, now_ns):
        self.calls.append(("sent", now_ns))

    def on_rtt_measurement(self, now_ns, rtt_ns):
        self.calls.append(("measured", now_ns, rtt_ns))

    def should_measure_rtt(self, now_ns):
        return now_ns > 5

    def initial_window_length(self):
        return 100

    def max_window_length(self):
        return 200


def probe_of(strategy, report=None):
    return CongestionControlProbe(adapt_congestion_control(strategy, report or pytest.fail))


def state_of(**fields):
    state = RebuildState()
    for name, value in fields.items():
        setattr(state, name, value)
    return state


def test_a_strategy_in_plain_python_is_called_through_an_adapter():
    strategy = Complete()
    probe = probe_of(strategy)
    state = state_of(hwm_position=64, loss_occurred=True)

    assert (probe.initial_window_length(), probe.max_window_length()) == (100, 200)
    assert probe.on_track_rebuild(state) == 32
    assert state.force_status_message
    assert [probe.on_rtt_measurement_sent(1), probe.on_rtt_measurement(2, 3)] == [0, 0]
    assert [probe.should_measure_rtt(at) for at in (5, 5 + INTERVAL_NS)] == [False, True]
    assert strategy.calls == [("sent", 1), ("measured", 2, 3)]


def test_a_python_strategy_gets_skipped_progress_an_interval_later():
    class Listening(Complete):
        def on_track_rebuild(self, state):
            self.calls.append(
                (state.rebuild_position_before, state.rebuild_position_after, state.loss_occurred)
            )
            return 64

        def should_measure_rtt(self, now_ns):
            return True

    strategy = Listening()
    probe = probe_of(strategy)
    steps = [(0, 0, 32, False), (1, 32, 64, True), (2, 64, 96, False), (INTERVAL_NS, 96, 128, False)]

    windows = [
        probe.on_track_rebuild(
            state_of(
                now_ns=now_ns,
                rebuild_position_before=before,
                rebuild_position_after=after,
                loss_occurred=is_loss,
            )
        )
        for now_ns, before, after, is_loss in steps
    ]

    assert windows == [64] * 4
    assert strategy.calls == [(0, 32, False), (32, 128, True)]
    assert [probe.should_measure_rtt(now_ns) for now_ns, *_ in steps] == [True, False, False, True]


def test_a_strategy_that_raises_is_reported_once_and_its_last_window_stands():
    strategy = Complete()
    errors = []
    probe = probe_of(strategy, errors.append)
    probe.on_track_rebuild(state_of(hwm_position=64))

    probe.on_track_rebuild(state_of(now_ns=INTERVAL_NS))

    later = [state_of(hwm_position=640, now_ns=times * INTERVAL_NS) for times in (2, 3)]
    assert [probe.on_track_rebuild(state) for state in later] == [32, 32]
    assert len(errors) == 1
    assert not probe.should_measure_rtt(6)


def test_a_compiled_strategy_is_used_as_it_is():
    strategy = StaticWindowCongestionControl(PARAMS)

    assert adapt_congestion_control(strategy, pytest.fail) is strategy


def test_a_python_subclass_keeps_the_compiled_methods_that_it_omits():
    class Measuring(StaticWindowCongestionControl):
        def should_measure_rtt(self, now_ns):
            return True

    probe = probe_of(Measuring(PARAMS))

    assert probe.should_measure_rtt(0)
    assert [probe.on_track_rebuild(RebuildState()), probe.initial_window_length()] == [4096, 4096]
    assert probe.max_window_length() == 4096


def test_the_initial_window_does_not_change():
    probe = probe_of(Complete())

    probe.on_track_rebuild(state_of(hwm_position=64))

    assert probe.initial_window_length() == initial_window_length_of(probe.strategy) == 100


def test_an_object_without_the_methods_is_rejected():
    with pytest.raises(
        PluginError, match="methods initial_window_length, max_window_length, on_track_rebuild"
    ):
        adapt_congestion_control(object(), pytest.fail)


def test_the_base_offers_no_window():
    probe = probe_of(CongestionControl())

    assert [probe.initial_window_length(), probe.on_track_rebuild(RebuildState())] == [0, 0]
