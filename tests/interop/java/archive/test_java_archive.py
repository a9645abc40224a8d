"""Recordings of the real Aeron Archive, read while it runs."""

from __future__ import annotations

import pytest
from archive_scenario import ArchivePeer
from messages import message

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.retention.states import RecordingState, state_of

pytestmark = pytest.mark.interop

COUNT = 2000


@pytest.fixture
def archive(java, tmp_path):
    """Start an Aeron Archive with options."""
    started = []

    def start(*options: str) -> ArchivePeer:
        started.append(ArchivePeer(java, tmp_path, *options))
        return started[-1]

    yield start
    for each in started:
        each.close()


def recorded(recording) -> list[bytes]:
    return [found.payload for found in messages(recording, recording.start_position, recording.position)]


@pytest.mark.compatible("recording of Aeron Archive, stopped", "Java client → Java archive → our reader")
def test_a_stopped_recording_is_read_as_it_was_sent(archive):
    peer = archive()
    made = peer.record(100, COUNT)
    stop = peer.stop(made)

    recording = Archive.open(peer.folder).recording(made.recording_id)

    assert recording.position == recording.descriptor.stop_position == stop
    assert recorded(recording) == [message(index) for index in range(COUNT)]


@pytest.mark.compatible("recording of Aeron Archive, live", "Java client → Java archive → our reader")
def test_a_live_recording_is_read_up_to_its_last_message(archive):
    peer = archive()
    made = peer.record(100, 100)
    recording = Archive.open(peer.folder).recording(made.recording_id)
    first = recorded(recording)
    assert state_of(recording, recording.descriptor.start_time_ns) is RecordingState.LIVE

    peer.send(made, COUNT)

    assert first == [message(index) for index in range(100)]
    assert recorded(recording) == first + [message(index) for index in range(COUNT)]


@pytest.mark.parametrize("algorithm", ["Crc32", "Crc32c"])
@pytest.mark.compatible("recording of Aeron Archive, checksums", "Java client → Java archive → our reader")
def test_a_recording_with_checksums_in_its_frames_is_read(archive, algorithm):
    peer = archive(f"checksum=io.aeron.archive.checksum.{algorithm}")
    made = peer.record(100, COUNT)
    peer.stop(made)

    assert recorded(Archive.open(peer.folder).recording(made.recording_id)) == [
        message(index) for index in range(COUNT)
    ]


@pytest.mark.compatible(
    "recording of Aeron Archive, changed meanwhile", "Java client → Java archive → our reader"
)
def test_changes_of_an_archive_are_seen_by_a_reader_that_has_it_open(archive):
    peer = archive()
    made = peer.record(100, COUNT)
    opened = Archive.open(peer.folder)
    recording = opened.recording(made.recording_id)
    first_segment_end = recording.descriptor.segment_length
    assert recording.start_position == 0
    peer.stop(made)

    peer.change("purge-segments", made.recording_id, first_segment_end)
    assert recording.start_position == first_segment_end
    peer.change("purge", made.recording_id)

    assert opened.recordings() == []
