"""Readers of data that is purged while they read it: at each of their accesses to the archive, in turn."""

import pytest

from aeron_core.errors import DataLossError, RecordingNotFoundError
from aeron_core.recording.reading import messages as messages_module
from aeron_core.recording.reading.messages import messages, whole_frames
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.retention.purge import purge_before, purge_recording
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.recording import Recording
from aeron_core.testing.recordings import TERM_LENGTH, RecordingUnderTest, purging_stores

DAY_NS = 86_400 * 10**9
END = 3 * TERM_LENGTH


def all_messages(store):
    return messages(Recording(store, 0), 0, END)


def unverified_messages(store):
    return messages(Recording(store, 0), 0, END, verify=False)


def frames(store):
    return whole_frames(Recording(store, 0), 0, END)


def purge_one_segment(store):
    purge_before(store, 0, TERM_LENGTH)


def purge_two_segments(store):
    purge_before(store, 0, 2 * TERM_LENGTH)


def purge_all(store):
    purge_recording(store, 0, DAY_NS)


@pytest.fixture
def folder(tmp_path):
    """An archive with a recording of three segments, each of one term."""
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=TERM_LENGTH)
    for _ in range(3):
        written.fill_term(8000)
    written.stop()
    return written.store.folder


def error_of(action):
    """Return the text of the error that a purge causes in an action, an empty text if there is none."""
    try:
        action()
    except (DataLossError, RecordingNotFoundError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("purge", [purge_one_segment, purge_two_segments, purge_all])
@pytest.mark.parametrize("read", [all_messages, unverified_messages, frames])
def test_a_reader_gets_the_recorded_data_or_an_error(folder, monkeypatch, read, purge):
    monkeypatch.setattr(messages_module, "_CHUNK_LENGTH", TERM_LENGTH // 2)
    whole = list(read(LocalStore(folder)))
    errors = []

    for store in purging_stores(folder, purge):
        found = []
        errors.append(error_of(lambda found=found, store=store: found.extend(read(store))))
        assert found == (whole[: len(found)] if errors[-1] else whole)

    assert errors[0].startswith("recording 0 ")
    assert errors[-1] == ""
    assert all("was purged" in error for error in errors if error)


@pytest.mark.parametrize("purge", [purge_one_segment, purge_two_segments, purge_all])
def test_a_purge_is_no_fault_of_a_recording(folder, purge):
    def check(store):
        assert verify(store, Recording(store, 0), DAY_NS, lambda length: None).faults == []

    for store in purging_stores(folder, purge):
        error = error_of(lambda store=store: check(store))
        assert not error or (purge is purge_all and "was purged" in error)
