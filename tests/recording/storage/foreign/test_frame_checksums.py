"""Checksums that an Aeron Archive has stored in the frames of its recordings."""

import re

import pytest
from archive_frames import flip_bit, frames_of, store_checksums
from archive_scenario import FEW, MANY
from messages import message

from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.testing.recordings import RecordingUnderTest

STOPPED, EXTENDED, LIVE = 0, 2, 5
#: A time after the last sign of life of the Archive, in nanoseconds since the epoch.
LATER_NS = 2_000_000_000_000_000_000
KINDS = list(FrameChecksum)


def opened(folder, checksum=None, recording_id=STOPPED):
    return Archive.open(folder, checksum=checksum).recording(recording_id)


def payloads(recording, **options):
    found = messages(recording, recording.start_position, recording.position, **options)
    return [each.payload for each in found]


def verified(folder, checksum=None, recording_id=STOPPED):
    archive = Archive.open(folder, checksum=checksum)
    return verify(archive.store, archive.recording(recording_id), LATER_NS, lambda _: None)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_with_their_checksums_are_read_and_counted(folder, kind):
    store_checksums(folder, kind)

    assert payloads(opened(folder, kind)) == [message(index) for index in range(MANY)]
    result = verified(folder, kind)
    assert (result.faults, result.check_sum_count) == ([], result.frame_count)
    assert result.covered_length == result.end - result.begin
    assert result.uncompared_checksum is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_a_fault_at_its_frame(folder, kind):
    store_checksums(folder, kind)
    at = flip_bit(folder, "0-262144.rec", number=7)
    wanted = r"checksum=0x[0-9a-f]{8} in place of the session id: must be that of the payload"

    (fault,) = verified(folder, kind).faults
    with pytest.raises(CorruptRecordingError, match=f"recording 0 position {262144 + at}: {wanted}"):
        payloads(opened(folder, kind))

    assert re.fullmatch(f"recording 0 position {262144 + at}: 0-262144.rec: {wanted}", str(fault))
    # Without the option nothing is compared.
    assert len(payloads(opened(folder))) == len(payloads(opened(folder, kind), verify=False)) == MANY


@pytest.mark.parametrize("kind", KINDS)
def test_a_verification_names_checksums_that_it_did_not_compare(folder, kind):
    store_checksums(folder, kind)

    result = verified(folder)

    assert (result.faults, result.check_sum_count, result.uncompared_checksum) == ([], 0, kind)


@pytest.mark.parametrize("recording_id", [STOPPED, EXTENDED, LIVE])
def test_frames_without_checksums_are_not_taken_for_some_with(folder, recording_id):
    assert verified(folder, recording_id=recording_id).uncompared_checksum is None


def test_the_checksum_of_another_kind_is_wrong_in_the_first_frame_with_a_payload(folder):
    store_checksums(folder, FrameChecksum.CRC32)

    (fault, *_) = verified(folder, FrameChecksum.CRC32C).faults

    assert fault.position == 32  # after an empty one


def test_padding_has_no_checksum(folder):
    store_checksums(folder, FrameChecksum.CRC32)
    kinds = {kind for file in folder.glob("0-*.rec") for _, _, kind in frames_of(file)}

    assert kinds == {0, 1}  # padding and data
    assert verified(folder, FrameChecksum.CRC32).faults == []


def test_a_damaged_frame_does_not_hide_the_end_of_a_recording_without_stop_position(folder):
    store_checksums(folder, FrameChecksum.CRC32)
    end = opened(folder, recording_id=LIVE).position
    flip_bit(folder, "5-0.rec", number=FEW // 2)

    recording = opened(folder, FrameChecksum.CRC32, LIVE)

    assert recording.position == end
    with pytest.raises(CorruptRecordingError, match="checksum="):
        payloads(recording)


def test_a_checksum_is_refused_for_an_archive_of_our_own(tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "ours")

    with pytest.raises(
        ConfigurationError, match=r"checksum=crc32 for .*: must be given only for the files of an"
    ):
        Archive.open(written.store.folder, checksum=FrameChecksum.CRC32)
