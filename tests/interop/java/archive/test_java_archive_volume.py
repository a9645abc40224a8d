"""Recordings of the real Aeron Archive beside what a Java subscriber has received: digests, counts, positions.

AERON_ARCHIVE_MESSAGES sets the number of messages of all recordings. Spark's side: tests/plugins/spark.
"""

from __future__ import annotations

import pytest
from archive_scenario import SEGMENT_LENGTH
from archive_volume import COUNT, MESSAGES, eight_recordings
from messages import Checksum, expected_checksum

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

pytestmark = pytest.mark.interop


@pytest.mark.compatible("recording of Aeron Archive, 8 at a time", "Java client → Java archive → our reader")
def test_each_of_eight_recordings_has_what_its_subscriber_received(java, tmp_path):
    with eight_recordings(java, tmp_path) as (folder, expected):
        archive = Archive.open(folder)
        assert sorted(each.recording_id for each in archive.recordings()) == sorted(expected)
        for recording_id, facts in expected.items():
            recording = archive.recording(recording_id)
            checksum, found = Checksum(), 0
            for each in messages(recording, recording.start_position, recording.position):
                checksum.add(each.payload)
                found += 1

            assert (checksum.hexdigest(), found) == (facts.digest, COUNT)
            assert (recording.start_position, recording.position) == (
                facts.start_position,
                facts.max_position,
            )
            assert recording.descriptor.stop_position == (None if facts.is_live else facts.stop_position)
            assert facts.active_position == (facts.max_position if facts.is_live else -1)
            assert facts.digest == expected_checksum(COUNT)
        assert recording.position > SEGMENT_LENGTH or MESSAGES < 8000
