"""Upload of recordings from a spool to a remote archive."""

import errno
import os
from pathlib import Path

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.remote.upload_thread import UploadThread
from aeron_core.recording.remote.uploader import Uploader
from aeron_core.recording.retention.retention import Retention, RetentionPolicy
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.writing.acceptance import accept_damage
from aeron_core.recording.writing.recovery import recover
from aeron_core.testing.recordings import TERM_LENGTH, RecordingUnderTest, frame_at

SEGMENT = 2 * TERM_LENGTH
S = 1_000_000_000


class RemoteStore(LocalStore):
    """A store without mapping and locks, with injected failures."""

    failures = 0

    def local_path(self, name):
        return None

    def upload(self, path, name):
        self.fail()
        super().upload(path, name)

    def write(self, name, data):
        self.fail()
        super().write(name, data)

    def fail(self):
        if self.failures > 0:
            self.failures -= 1
            raise OSError(errno.EHOSTUNREACH, "no route to host")


class Upload:
    def __init__(self, tmp_path):
        self.written = RecordingUnderTest.begin(tmp_path / "spool")
        self.remote_store = RemoteStore(tmp_path / "remote")
        Archive.create(tmp_path / "remote", self.written.archive.uuid)
        self.remote = Archive(self.remote_store)
        self.errors = []
        self.restart()

    def restart(self):
        self.uploader = Uploader(self.written.archive, self.remote, self.errors.append)

    def run(self, now_ns=None):
        while self.uploader.do_work(now_ns or self.written.now_ns):
            pass

    def spooled(self):
        return sorted(path.name for path in self.written.folder.glob("*.rec"))

    def data(self):
        recording = self.remote.recording(0)
        return b"".join(data for _, data in recording.read(recording.start_position, recording.position))

    def is_sound(self):
        return verify(self.remote_store, self.remote.recording(0), 2**62, lambda length: None).faults == []


@pytest.fixture
def upload(tmp_path):
    return Upload(tmp_path)


def test_finished_segments_are_uploaded_and_deleted_locally(upload):
    for _ in range(5):
        upload.written.fill_term()
    whole = upload.written.data()

    upload.run()

    recording = upload.remote.recording(0)
    assert upload.spooled() == ["0-262144.rec"]
    assert (recording.start_position, recording.position, recording.is_live) == (0, 2 * SEGMENT, False)
    assert upload.data() == whole[: 2 * SEGMENT]
    assert upload.is_sound()


def test_a_local_file_is_deleted_after_the_upload_was_flushed(upload, monkeypatch):
    flushed, fsync = set(), os.fsync

    def note(fd):
        fsync(fd)
        flushed.add(Path(os.readlink(f"/proc/self/fd/{fd}")))

    monkeypatch.setattr(os, "fsync", note)
    for _ in range(3):
        upload.written.fill_term()

    upload.run()

    there = upload.remote_store.folder / "0"
    assert there in flushed
    assert {there / f".0-0.{kind}.{os.getpid()}" for kind in ("rec", "idx")} <= flushed


def test_a_recording_without_a_finished_segment_is_not_uploaded(upload):
    upload.written.append(b"a")

    upload.run()

    assert upload.remote.recordings() == []


def test_an_uploaded_segment_is_deleted_before_readers_see_its_end(upload):
    for _ in range(2):
        upload.written.fill_term()
    block = frame_at(SEGMENT, b"a")
    upload.written.writer.append(memoryview(block), upload.written.now_ns)  # begins the next

    upload.run()

    assert upload.spooled() == ["0-131072.rec"]
    upload.written.writer.flush(upload.written.now_ns)
    assert upload.written.data() == block


def test_the_tail_is_uploaded_at_the_end_of_the_stream_and_deleted_locally(upload):
    for _ in range(3):
        upload.written.fill_term()
    whole = upload.written.data()
    upload.written.stop()

    upload.run()

    assert upload.written.archive.recordings() == []
    assert upload.data() == whole
    assert upload.remote.recording(0).descriptor.is_end_of_stream
    assert upload.is_sound()


def test_a_stopped_recording_is_uploaded_completely_and_can_continue_locally(upload):
    upload.written.fill_term()
    upload.written.stop(is_end_of_stream=False)
    upload.run()

    assert upload.remote.recording(0).position == TERM_LENGTH
    assert recover(upload.written.store, 0, upload.written.now_ns).position == TERM_LENGTH


def test_the_local_tail_of_a_stopped_recording_is_deleted_after_its_linger_time(upload):
    upload.written.fill_term()
    upload.written.stop(is_end_of_stream=False)

    upload.run(upload.written.now_ns + 3600 * S)
    assert upload.spooled() == ["0-0.rec"]
    upload.run(upload.written.now_ns + 3601 * S)

    assert upload.written.archive.recordings() == []
    assert upload.remote.recording(0).position == TERM_LENGTH


@pytest.mark.parametrize("failures", range(1, 10))
def test_an_error_at_any_step_loses_no_data(upload, failures):
    for _ in range(5):
        upload.written.fill_term()
    whole = upload.written.data()
    upload.written.stop()

    for attempt in range(100):
        if attempt % failures == 0:
            upload.remote_store.failures = 1
        upload.uploader.do_work(upload.written.now_ns + attempt * 60 * S)
        if upload.remote.recordings():
            assert upload.is_sound()
        if attempt % 3 == 0:
            upload.restart()
    upload.remote_store.failures = 0
    upload.run(upload.written.now_ns + 10**6 * S)

    assert upload.data() == whole
    assert upload.written.archive.recordings() == []


def test_an_error_is_reported_once_and_retried_with_growing_delays(upload):
    for _ in range(3):
        upload.written.fill_term()
    upload.remote_store.failures = 1000

    for second in range(600):
        upload.uploader.do_work(upload.written.now_ns + second * S)

    assert 10 < 1000 - upload.remote_store.failures < 20
    (error,) = upload.errors
    assert "cannot upload to" in str(error)
    assert "no route to host; retrying, and keeping the data in" in str(error)
    assert upload.spooled() == ["0-0.rec", "0-131072.rec"]


def test_another_recorder_continues_with_the_data_in_the_spool(upload):
    for _ in range(5):
        upload.written.fill_term()
    upload.uploader.do_work(upload.written.now_ns)
    whole_rest = upload.written.data()

    upload.restart()
    upload.run()

    assert upload.data()[SEGMENT:] == whole_rest[:SEGMENT]


def test_remotely_purged_data_stays_purged(upload):
    for _ in range(5):
        upload.written.fill_term()
    upload.run()
    retention = Retention(upload.remote, RetentionPolicy(max_bytes=SEGMENT), upload.errors.append)
    while retention.do_work(upload.written.now_ns):
        pass
    for _ in range(2):
        upload.written.fill_term()

    upload.run()

    recording = upload.remote.recording(0)
    assert (recording.start_position, recording.position) == (SEGMENT, 3 * SEGMENT)


def test_an_archive_of_another_spool_raises(upload, tmp_path):
    with pytest.raises(ConfigurationError, match="was not created from spool"):
        Uploader(Archive.create(tmp_path / "other"), upload.remote, print)


def test_a_thread_uploads_the_rest_when_it_is_closed(upload):
    upload.written.fill_term()
    whole = upload.written.data()
    retention = Retention(upload.remote, RetentionPolicy(), upload.errors.append)
    thread = UploadThread(upload.uploader, retention, lambda: upload.written.now_ns)
    thread.start()
    upload.written.stop()
    thread.wake()

    assert thread.close()
    assert upload.data() == whole


def test_a_thread_that_cannot_upload_ends_and_reports_it(upload):
    upload.written.stop()
    upload.remote_store.failures = 10**9
    retention = Retention(upload.remote, RetentionPolicy(), upload.errors.append)
    thread = UploadThread(upload.uploader, retention, lambda: upload.written.now_ns)
    thread.start()

    assert not thread.close()
    assert len(upload.errors) == 1


def flip(upload, name):
    with (upload.written.folder / name).open("r+b") as file:
        file.seek(40)
        (byte,) = file.read(1)
        file.seek(40)
        file.write(bytes([byte ^ 1]))


def test_a_damaged_segment_stays_in_the_spool_until_it_is_accepted(upload):
    for _ in range(3):
        upload.written.fill_term()
    other = RecordingUnderTest.begin(upload.written.store.folder, session_id=12)
    for _ in range(3):
        other.fill_term()
    flip(upload, "0-0.rec")

    for number in range(3):
        upload.run(upload.written.now_ns + number * 120 * S)

    (error,) = upload.errors
    assert "recording 0 position 0: the frames up to" in str(error)
    assert upload.spooled() == ["0-0.rec", "0-131072.rec"]
    assert [recording.recording_id for recording in upload.remote.recordings()] == [1]
    assert not upload.uploader.finish(upload.written.now_ns)
    assert list(accept_damage(upload.written.store, upload.written.archive.recording(0), 1))
    upload.run(upload.written.now_ns + 600 * S)
    assert upload.spooled() == ["0-131072.rec"]
    assert upload.uploader.finish(upload.written.now_ns)
    assert upload.is_sound()


def test_an_uploader_that_does_not_verify_uploads_damage_with_its_checksum(upload):
    upload.uploader = Uploader(upload.written.archive, upload.remote, upload.errors.append, verify=False)
    for _ in range(3):
        upload.written.fill_term()
    flip(upload, "0-0.rec")

    upload.run()

    assert (upload.errors, upload.spooled()) == ([], ["0-131072.rec"])
    assert not upload.is_sound()
