"""Mark files that another user of the machine has prepared."""

import os

import pytest
from packed_archive import name_driver

from aeron_core.recording import Archive
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign.mark_file import read_mark

LIVE = 5


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["archive-mark.dat", "archive-mark.lnk"])
def test_a_pipe_in_place_of_a_mark_file_is_no_mark(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)

    assert read_mark(LocalStore(folder)) is None


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_the_drivers_file_has_no_counters(folder, tmp_path):
    position = Archive.open(folder).recording(LIVE).position
    os.mkfifo(tmp_path / "cnc.dat")
    name_driver(folder, str(tmp_path))

    assert Archive.open(folder).recording(LIVE).position == position


def test_a_directory_of_the_driver_that_is_no_path_is_no_mark(folder):
    position = Archive.open(folder).recording(LIVE).position
    name_driver(folder, "a\0b")

    assert Archive.open(folder).recording(LIVE).position == position
    assert read_mark(LocalStore(folder)) is None
