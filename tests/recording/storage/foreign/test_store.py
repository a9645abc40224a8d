"""Lists of the files of an Aeron Archive, whose recordings share one folder."""

import os

import pytest

from aeron_core.recording import Archive
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign import store

STOPPED = 0
SECOND_NS = 1_000_000_000


@pytest.fixture
def listings(monkeypatch):
    """Return a list that gets an item for each time that the folder is listed."""
    found = []
    names = LocalStore.names

    def counted(self, folder=""):
        found.append(folder)
        return names(self, folder)

    monkeypatch.setattr(LocalStore, "names", counted)
    return found


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the monotonic time in seconds."""
    time_s = [1000.0]
    monkeypatch.setattr(store.time, "monotonic", lambda: time_s[0])
    return time_s


def segments_of_all(archive):
    return [recording.segments() for recording in archive.recordings()]


@pytest.mark.parametrize(("time_ns", "settled_s"), [(SECOND_NS + 1, 0.1), (SECOND_NS, 2.5)])
def test_a_folder_is_listed_once_after_its_last_change(folder, listings, clock, time_ns, settled_s):
    archive = Archive.open(folder)
    os.utime(folder, ns=(time_ns, time_ns))
    before = segments_of_all(archive)
    clock[0] += settled_s
    listings.clear()

    assert segments_of_all(archive) == segments_of_all(archive) == before
    assert len(listings) == 1


def test_a_new_segment_is_found(folder, clock):
    recording = Archive.open(folder).recording(STOPPED)
    before = recording.segments()
    clock[0] += 10
    assert recording.segments() == before

    (folder / f"{STOPPED}-{before[-1] + before[1]}.rec").touch()

    assert recording.segments() == [*before, before[-1] + before[1]]


def test_a_folder_whose_time_may_hide_a_change_is_listed_again(folder, listings, clock):
    archive = Archive.open(folder)
    os.utime(folder, ns=(1, 1))
    segments_of_all(archive)
    listings.clear()

    segments_of_all(archive)

    assert len(listings) == len(archive.recordings())
