"""Modes and groups of the files of an archive."""

from __future__ import annotations

import os
import stat

import pytest

from aeron_core.file_access import FileAccess
from aeron_core.recording import Archive
from aeron_core.recording.retention.leases import write_lease
from aeron_core.recording.storage.catalogue import keep_reserve
from aeron_core.recording.writing.segment_writer import SegmentWriter

SEGMENT = ("0/0-0.rec", "0/0-0.idx")


@pytest.fixture(autouse=True)
def umask():
    before = os.umask(0)
    yield
    os.umask(before)


def modes_of(folder):
    found = [folder, *folder.rglob("*")]
    return {
        kind: {stat.S_IMODE(each.stat().st_mode) for each in found if each.is_dir() == (kind == "folders")}
        for kind in ("folders", "files")
    }


def fill(archive, tmp_path):
    """Add one file of each kind to an archive."""
    write_lease(archive.store, "reader", {}, 0)
    archive.store.write("0/recording.json", b"{}")
    keep_reserve(archive.store)
    with archive.recorder_lock():
        SegmentWriter(*(archive.store.folder / name for name in SEGMENT)).close()
    (tmp_path / "finished").write_bytes(b"data")
    archive.store.upload(tmp_path / "finished", "1/1-0.rec")


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o777], ids=oct)
def test_all_that_is_added_to_an_archive_has_the_mode_of_its_recorder(tmp_path, mode):
    fill(Archive.create(tmp_path / "archive", access=FileAccess(mode)), tmp_path)

    assert modes_of(tmp_path / "archive") == {"folders": {mode}, "files": {mode & 0o666}}


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o777], ids=oct)
def test_other_programs_keep_the_access_of_an_archive(tmp_path, mode):
    Archive.create(tmp_path / "archive", access=FileAccess(mode))

    fill(Archive.open(tmp_path / "archive"), tmp_path)

    assert modes_of(tmp_path / "archive") == {"folders": {mode}, "files": {mode & 0o666}}


def test_an_archive_in_a_folder_that_others_can_read_is_private(tmp_path):
    (tmp_path / "archive").mkdir(mode=0o755)

    fill(Archive.create(tmp_path / "archive"), tmp_path)

    assert modes_of(tmp_path / "archive") == {"folders": {0o755, 0o700}, "files": {0o600}}


def test_a_recording_of_an_earlier_release_keeps_its_access(tmp_path):
    archive = Archive.create(tmp_path / "archive")
    (tmp_path / "archive" / "0").mkdir(mode=0o755)

    SegmentWriter(*(tmp_path / "archive" / name for name in SEGMENT)).close()

    assert archive.recordings() == []
    assert modes_of(tmp_path / "archive" / "0") == {"folders": {0o755}, "files": {0o644}}
