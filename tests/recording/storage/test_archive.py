"""A folder of recordings."""

import pytest

from aeron_core.errors import (
    ArchiveInUseError,
    ConfigurationError,
    CorruptRecordingError,
    RecordingNotFoundError,
)
from aeron_core.recording import Archive


def test_an_archive_keeps_its_identity(tmp_path):
    made = Archive.create(tmp_path / "archive")

    assert Archive.open(tmp_path / "archive").uuid == made.uuid
    assert Archive.create(tmp_path / "archive").uuid == made.uuid


def test_a_number_is_given_once(tmp_path):
    first, second = (Archive.create(tmp_path / "archive") for _ in range(2))

    assert [first.next_recording_id(), second.next_recording_id(), first.next_recording_id()] == [0, 1, 2]


def test_a_folder_that_holds_anything_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(
        ConfigurationError, match="must be an archive of recordings, or empty; it holds 'thesis"
    ):
        Archive.create(tmp_path)


def test_a_place_without_an_archive_is_said_to_have_none(tmp_path):
    with pytest.raises(RecordingNotFoundError, match="there is no archive of recordings"):
        Archive.open(tmp_path)


def test_an_archive_of_a_later_version_is_refused(tmp_path):
    Archive.create(tmp_path)
    (tmp_path / "archive.json").write_text('{"version": 2, "uuid": "x"}')

    with pytest.raises(CorruptRecordingError, match=r"archive\.json: Input should be 1"):
        Archive.open(tmp_path)


def test_a_recording_that_is_not_there_is_named_with_those_that_are(written):
    with pytest.raises(RecordingNotFoundError, match=r"recording 7 in .*: there is 0"):
        written.archive.recording(7)


def test_recordings_come_and_go(written):
    assert [recording.recording_id for recording in written.archive.recordings()] == [0]

    written.archive.store.delete_folder("0")

    assert written.archive.recordings() == []


def test_an_archive_has_one_recorder(tmp_path):
    archive = Archive.create(tmp_path)

    with archive.recorder_lock(), pytest.raises(ArchiveInUseError, match="another recorder writes"):
        Archive.open(tmp_path).recorder_lock().__enter__()

    with archive.recorder_lock():
        pass


def test_a_uri_of_a_filesystem_reads_as_the_folder_does(written):
    written.append(b"a")
    written.stop()

    archive = Archive.open(written.store.folder.as_uri())

    assert archive.recording(0).descriptor == written.archive.recording(0).descriptor
