"""A folder of recordings."""

import fcntl

import pytest

from aeron_core.errors import (
    ArchiveInUseError,
    ConfigurationError,
    CorruptRecordingError,
    RecordingNotFoundError,
)
from aeron_core.recording import Archive
from aeron_core.recording.storage import catalogue
from aeron_core.recording.storage.catalogue import has_recorder, recorder_lock


def test_an_archive_keeps_its_identity(tmp_path):
    made = Archive.create(tmp_path / "archive")

    assert Archive.open(tmp_path / "archive").uuid == made.uuid
    assert Archive.create(tmp_path / "archive").uuid == made.uuid


def test_a_recording_id_is_assigned_once(tmp_path):
    first, second = (Archive.create(tmp_path / "archive") for _ in range(2))

    assert [first.next_recording_id(), second.next_recording_id(), first.next_recording_id()] == [0, 1, 2]


def test_a_folder_with_other_files_is_rejected_and_not_changed(tmp_path):
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(
        ConfigurationError, match="must be an archive of recordings, or empty; it contains 'thesis"
    ):
        Archive.create(tmp_path)


def test_opening_a_folder_without_an_archive_raises(tmp_path):
    with pytest.raises(RecordingNotFoundError, match="there is no archive of recordings"):
        Archive.open(tmp_path)


def test_an_archive_of_a_later_version_raises(tmp_path):
    Archive.create(tmp_path)
    (tmp_path / "archive.json").write_text('{"version": 2, "uuid": "x"}')

    with pytest.raises(CorruptRecordingError, match=r"archive\.json: version: Input should be 1"):
        Archive.open(tmp_path)


def test_a_missing_recording_raises_with_the_existing_ids(written):
    with pytest.raises(RecordingNotFoundError, match=r"recording 7 in .*: does not exist; recordings: 0"):
        written.archive.recording(7)


def test_recordings_are_added_and_removed(written):
    assert [recording.recording_id for recording in written.archive.recordings()] == [0]

    written.archive.store.delete_folder("0")

    assert written.archive.recordings() == []


def test_an_archive_has_one_recorder(tmp_path):
    archive = Archive.create(tmp_path)

    with archive.recorder_lock(), pytest.raises(ArchiveInUseError, match="another recorder writes"):
        Archive.open(tmp_path).recorder_lock().__enter__()

    with archive.recorder_lock():
        pass


def test_a_check_for_a_recorder_does_not_stop_one_that_starts(tmp_path, monkeypatch):
    store = Archive.create(tmp_path).store
    check = (tmp_path / "recorder.lock").open("w")  # as in `has_recorder` of another process
    fcntl.flock(check, fcntl.LOCK_SH)
    monkeypatch.setattr(catalogue.time, "sleep", lambda interval_s: check.close())

    assert not has_recorder(store)
    with recorder_lock(store):
        assert has_recorder(store)

    assert not has_recorder(store)


def test_a_file_uri_opens_the_same_archive_as_its_folder(written):
    written.append(b"a")
    written.stop()

    archive = Archive.open(written.store.folder.as_uri())

    assert archive.recording(0).descriptor == written.archive.recording(0).descriptor


def test_an_archive_in_the_home_directory_of_an_unknown_user_is_refused():
    with pytest.raises(ConfigurationError, match="'~no-such-user/archive': the home directory"):
        Archive.open("~no-such-user/archive")
