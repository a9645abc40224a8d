"""The archive and spool of a recorder."""

import threading

from aeron_core.recording.place import recording_place
from aeron_core.recording.retention.retention import RetentionPolicy
from aeron_core.recording.writing.recorder import RecorderParams
from aeron_core.testing.recordings import RecordingUnderTest


def test_only_the_thread_of_the_recorder_reads_its_clock(tmp_path):
    threads = set()

    def read_clock():
        threads.add(threading.current_thread().name)
        return 0

    params = RecorderParams(on_error=print, clock=read_clock)
    with recording_place(str(tmp_path / "to"), str(tmp_path / "spool"), RetentionPolicy(), params):
        written = RecordingUnderTest.begin(tmp_path / "spool")
        written.append(b"a")
        written.stop()

    assert (tmp_path / "to" / "0" / "0-0.rec").exists()
    assert threads == set()
