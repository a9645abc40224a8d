"""The archive and spool of a recorder."""

import threading

from aeron_core.recording.retention.retention import RetentionPolicy
from aeron_core.recording.target import recording_target
from aeron_core.recording.writing.recorder import EpochClock, RecorderParams
from aeron_core.testing.recordings import RecordingUnderTest


def upload(tmp_path, clock):
    params = RecorderParams(on_error=print, clock=clock)
    with recording_target(str(tmp_path / "to"), str(tmp_path / "spool"), RetentionPolicy(), params):
        written = RecordingUnderTest.begin(tmp_path / "spool")
        written.append(b"a")
        written.stop()
    assert (tmp_path / "to" / "0" / "0-0.rec").exists()


def test_the_thread_of_the_uploads_uses_the_clock_of_the_program(tmp_path):
    threads = set()

    def read_clock():
        threads.add(threading.current_thread().name)
        return 0

    upload(tmp_path, read_clock)

    assert threads == {"aeron-recording-upload"}


def test_the_thread_of_the_uploads_has_its_own_copy_of_an_epoch_clock(tmp_path):
    threads, used = set(), []

    class WatchedClock(EpochClock):
        def __call__(self):
            used.append(self)
            return super().__call__()

    def wall_ns():
        threads.add(threading.current_thread().name)
        return 0

    upload(tmp_path, WatchedClock(wall_ns))

    assert "aeron-recording-upload" in threads
    assert used == []
