"""Pauses of an idle recorder."""

import pytest

from aeron_core.recording.pace import LONGEST_PAUSE_S, SHORTEST_PAUSE_S, SILENCE_S, Pace


def test_a_recorder_with_work_does_not_pause():
    assert Pace().pause_after(1) == 0


def test_a_recorder_polls_fast_until_the_silence_is_over():
    pace = Pace()

    pauses = [pace.pause_after(0) for _ in range(200)]

    assert pauses[0] == SHORTEST_PAUSE_S
    assert pauses[-1] == LONGEST_PAUSE_S
    assert sum(pause for pause in pauses if pause == SHORTEST_PAUSE_S) == pytest.approx(SILENCE_S, abs=0.0011)


def test_a_recorder_polls_fast_again_after_work():
    pace = Pace()
    for _ in range(200):
        pace.pause_after(0)

    pace.pause_after(1)

    assert pace.pause_after(0) == SHORTEST_PAUSE_S
