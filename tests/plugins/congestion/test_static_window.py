from dataclasses import replace

import pytest
from aeron_congestion.static_window import StaticWindowCongestionControl

from aeron_core.spi import CongestionControlParams, RebuildState
from aeron_core.testing import CongestionControlProbe

PARAMS = CongestionControlParams("aeron:udp?endpoint=a:1", 1, 2, 3, 65536, 1408, 131072, 131072, "b:1")


@pytest.mark.parametrize(
    ("initial_window_length", "term_length", "window"),
    [(131072, 1 << 24, 131072), (131072, 1 << 18, 131072), (131072, 65536, 32768), (4096, 65536, 4096)],
)
def test_the_window_is_the_initial_one_limited_to_half_a_term(initial_window_length, term_length, window):
    params = replace(PARAMS, initial_window_length=initial_window_length, term_length=term_length)
    probe = CongestionControlProbe(StaticWindowCongestionControl(params))
    state = RebuildState()
    state.loss_occurred = True

    assert [probe.initial_window_length(), probe.max_window_length(), probe.on_track_rebuild(state)] == [
        window
    ] * 3
    assert not state.force_status_message


def test_round_trips_are_never_measured():
    assert not CongestionControlProbe(StaticWindowCongestionControl(PARAMS)).should_measure_rtt(10**18)
