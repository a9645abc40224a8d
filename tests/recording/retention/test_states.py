"""States of recordings after steps of the system clock."""

import pytest

from aeron_core.recording.retention.states import RecordingState, state_of

HOUR_NS = 3_600_000_000_000


def test_a_dead_recorder_is_dead_although_the_clock_was_set_back(written):
    written.writer.beat(written.now_ns)

    assert state_of(written.archive.recording(0), written.now_ns - HOUR_NS) is RecordingState.ABANDONED


def test_a_recorder_is_alive_although_the_clock_was_set_back(written):
    written.writer.beat(written.now_ns)

    with written.archive.recorder_lock():
        assert state_of(written.archive.recording(0), written.now_ns - HOUR_NS) is RecordingState.LIVE


@pytest.mark.parametrize("ahead_ns", [0, 1_000_000_000])
def test_a_heartbeat_shows_a_recorder_whose_lock_is_not_seen(written, ahead_ns):
    # As over a file system of the network without locks.
    written.writer.beat(written.now_ns + ahead_ns)

    assert state_of(written.archive.recording(0), written.now_ns) is RecordingState.LIVE
