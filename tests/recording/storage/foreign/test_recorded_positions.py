"""Counters of an Aeron Archive in the file of its driver: found, freed, reused, and of another driver."""

import struct

import pytest
from packed_archive import name_driver

from aeron_core._native.clock import Clock
from aeron_core.concurrent.counters import CountersManager
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign import recorded_positions
from aeron_core.recording.storage.foreign.mark_file import read_mark
from aeron_core.recording.storage.foreign.recorded_positions import RecordedPositions

LIVE = 5
RECORDING_POSITION = 100
LAYOUT = CncLayout.of(
    to_driver_length=65536 + 768,
    to_clients_length=65536 + 128,
    counters_values_length=65536,
    error_log_length=4096,
    page_size=4096,
)


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the monotonic time in seconds."""
    time_s = [1000.0]
    monkeypatch.setattr(recorded_positions.time, "monotonic", lambda: time_s[0])
    return time_s


@pytest.fixture
def counters(folder, tmp_path):
    """Return the counters of a driver that the mark file names."""
    name_driver(folder, str(tmp_path))
    return driver(tmp_path)


@pytest.fixture
def positions(folder, counters):
    """Return the positions of the archive."""
    return RecordedPositions(LocalStore(folder))


def driver(directory):
    (directory / CNC_FILE).unlink(missing_ok=True)
    cnc = CncFile.create(
        directory / CNC_FILE, LAYOUT, client_liveness_timeout_ns=10**10, start_timestamp_ms=1, pid=4242
    )
    cnc.publish()
    return CountersManager(cnc.counters_metadata, cnc.counters_values, Clock.manual(), 0)


def allocate(folder, counters, recording_id, position, archive_id=None):
    source = b"aeron:ipc"
    if archive_id is None:
        archive_id = read_mark(LocalStore(folder)).archive_id
    key = struct.pack("<qii", recording_id, 7, len(source)) + source + struct.pack("<q", archive_id)
    counter_id = counters.allocate(RECORDING_POSITION, "rec-pos", key)
    counters.set_value(counter_id, position)
    return counter_id


def test_the_counter_of_a_recording_has_its_position(folder, counters, positions):
    counters.allocate(1, "other")
    counter_id = allocate(folder, counters, LIVE, 64)
    assert (positions.position(LIVE), positions.position(LIVE + 1)) == (64, None)

    counters.set_value(counter_id, 96)

    assert positions.position(LIVE) == 96


def test_the_counter_of_another_archive_is_not_used(folder, counters, positions):
    allocate(folder, counters, LIVE, 64, archive_id=2)

    assert positions.position(LIVE) is None


def test_a_counter_that_was_freed_and_reused_is_not_used(folder, counters, positions, clock):
    counter_id = allocate(folder, counters, LIVE, 64)
    assert positions.position(LIVE) == 64

    counters.free(counter_id)
    assert allocate(folder, counters, LIVE + 1, 128) == counter_id
    clock[0] += 1

    assert (positions.position(LIVE), positions.position(LIVE + 1)) == (None, 128)


def test_of_the_counters_of_a_dead_and_a_new_archive_the_later_position_is_used(folder, counters, positions):
    allocate(folder, counters, LIVE, 64)
    allocate(folder, counters, LIVE, 128)
    allocate(folder, counters, LIVE, 96)

    assert positions.position(LIVE) == 128


def test_counters_of_thousands_of_recordings_are_found_in_one_search(
    folder, counters, positions, monkeypatch, clock
):
    for recording_id in range(400):
        allocate(folder, counters, recording_id, 32 * recording_id)
    searches, allocated_ids = [], recorded_positions.CountersReader.allocated_ids

    def counted(self):
        searches.append(self)
        return allocated_ids(self)

    monkeypatch.setattr(recorded_positions.CountersReader, "allocated_ids", counted)

    assert [positions.position(each) for each in range(500)] == [*range(0, 32 * 400, 32), *[None] * 100]
    assert len(searches) == 1


def test_the_counters_of_a_driver_that_was_restarted_are_found(folder, counters, positions, tmp_path, clock):
    allocate(folder, counters, LIVE, 64)
    assert positions.position(LIVE) == 64

    allocate(folder, driver(tmp_path), LIVE, 128)
    clock[0] += 1

    assert positions.position(LIVE) == 128
