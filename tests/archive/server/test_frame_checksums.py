"""Checksums in the frames of a recording."""

from __future__ import annotations

import zlib

import pytest
from archive_frames import crc32c, frames_of
from served_archives import IPC, await_true, connect, expected, messages_of, record

from aeron_core.archive import REPLAY_ALL_AND_STOP, ReplayParams
from aeron_core.archive.server.frame_checksums import first_mismatch, stamped
from aeron_core.archive.server.params import ArchiveServerParams
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.storage.archive import FrameChecksum

KINDS = list(FrameChecksum)
TYPE_DATA = 1
ALL = ReplayParams(length=REPLAY_ALL_AND_STOP)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_with_checksums_is_replayed_and_read(serve, aeron, kind):
    served = serve(record_checksum=kind, replay_checksum=kind)
    archive = connect(aeron)
    recording_id = record(archive, 1000)

    assert messages_of(archive.replay(recording_id, IPC, 900, ALL), 1000) == expected(1000)
    recording = Archive.open(served.folder, checksum=kind).recording(recording_id)
    assert [each.payload for each in messages(recording, 0, recording.position)] == expected(1000)


@pytest.mark.parametrize(
    ("kind", "compute"), [(FrameChecksum.CRC32, zlib.crc32), (FrameChecksum.CRC32C, crc32c)]
)
def test_each_frame_has_the_checksum_of_what_follows_its_header(serve, aeron, kind, compute):
    served = serve(record_checksum=kind)
    recording_id = record(connect(aeron), 100)

    path = served.folder / f"{recording_id}-0.rec"
    data = path.read_bytes()
    frames = [(begin, end) for begin, end, frame_type in frames_of(path) if frame_type == TYPE_DATA]
    assert len(frames) >= 100
    for begin, end in frames:
        assert int.from_bytes(data[begin + 12 : begin + 16], "little") == compute(data[begin + 32 : end])


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_ends_a_replay_at_its_frame(serve, aeron, kind):
    served = serve(record_checksum=kind, replay_checksum=kind)
    errors = []
    archive = connect(aeron, on_error=errors.append)
    recording_id = record(archive, 10)
    path = served.folder / f"{recording_id}-0.rec"
    data = bytearray(path.read_bytes())
    # The first message is empty, the second one begins at 32.
    data[32 + 32] ^= 1
    path.write_bytes(data)

    archive.replay(recording_id, IPC, 900, ALL)

    await_true(lambda: archive.poll_for_recording_signals() or errors, "the error")
    assert f"position 32: the {kind} checksum of the frame is wrong" in str(errors[0])


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_a_recording_without_checksums_is_replayed_unless_they_are_compared(serve, aeron, kind):
    serve(replay_checksum=kind)
    errors = []
    archive = connect(aeron, on_error=errors.append)
    recording_id = record(archive, 10)

    replay = archive.replay(recording_id, IPC, 900, ALL)

    if kind is not None:
        await_true(lambda: archive.poll_for_recording_signals() or errors, "the error")
        assert f"the {kind} checksum of the frame is wrong" in str(errors[0])
    else:
        assert messages_of(replay, 10) == expected(10)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_whose_lengths_became_0_or_negative_end(kind):
    assert first_mismatch(memoryview(bytes(96)), kind) is None
    assert first_mismatch(memoryview(b"\xff" * 100), kind) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_whose_length_became_too_large_is_summed_up_to_the_end_of_its_block(kind):
    frame = bytearray((1 << 30).to_bytes(4, "little") + bytes(2) + b"\x01" + bytes(57))

    block = stamped(memoryview(frame), kind)
    assert first_mismatch(block, kind) is None
    block[63] ^= 1
    assert first_mismatch(block, kind) == 0


@pytest.mark.parametrize("value", ["crc32", False, True])
def test_a_value_that_is_no_checksum_is_refused(value):
    with pytest.raises(ConfigurationError, match=r"record_checksum=.*: must be FrameChecksum\.CRC32"):
        ArchiveServerParams(record_checksum=value)
