"""Checks of what readers read."""

import os

import pytest

from aeron_core.errors import CorruptRecordingError, DataLossError
from aeron_core.recording.retention.purge import purge_before
from aeron_core.recording.storage import index
from aeron_core.recording.storage.checked_pieces import checked_chunks
from aeron_core.testing.recordings import TERM_LENGTH, frame_at, frames_at, padding_at

SEGMENT = 2 * TERM_LENGTH
BEGIN = 0x80


@pytest.fixture
def recording(written):
    """A recording of two and a half segments in many pieces, which is live."""
    for _ in range(5):
        end = written.writer.written_position + TERM_LENGTH
        while end - written.writer.written_position > 8192:
            written.append(b"x" * 1000, b"y" * 900)
        rest = end - written.writer.written_position
        written.append_block(padding_at(written.writer.written_position, rest))
    return written.archive.recording(0)


def read(recording, begin=0, end=5 * TERM_LENGTH, chunk_length=4096):
    return b"".join(data for _, data in checked_chunks(recording, begin, end, chunk_length))


def tear(written, at, name="0-0.rec", mask=1):
    with (written.folder / name).open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ mask]))


@pytest.mark.parametrize("chunk_length", [32, 5000, 2**20])
@pytest.mark.parametrize("begin", [0, 1056, 2016, SEGMENT, SEGMENT + 1056])
@pytest.mark.parametrize("end", [SEGMENT, SEGMENT + 2016 + 1056, 5 * TERM_LENGTH])
def test_any_range_is_read_as_it_was_recorded(written, recording, begin, end, chunk_length):
    assert read(recording, begin, end, chunk_length) == written.data()[begin:end]


@pytest.mark.parametrize("entries", [1, 2, 1000])
def test_the_last_entries_of_an_index_are_enough(written, recording, monkeypatch, entries):
    monkeypatch.setattr(index, "_LAST_ENTRIES", entries)

    assert read(recording) == written.data()
    tear(written, 3000)
    with pytest.raises(CorruptRecordingError):
        read(recording)


@pytest.mark.parametrize("at", [0, 4, 6, 8, 12, 16, 20, 24, 32, 1000])
def test_a_changed_bit_is_detected_anywhere_in_a_frame(written, recording, at):
    tear(written, 2016 + at)

    with pytest.raises(CorruptRecordingError, match="recording 0 position 2016: "):
        read(recording)
    assert read(recording, begin=2 * 2016) == written.data()[2 * 2016 :]


def test_a_frame_that_became_padding_is_detected(written, recording):
    tear(written, 2016 + 6)

    with pytest.raises(CorruptRecordingError, match="do not have the checksum of the index"):
        read(recording)


@pytest.mark.parametrize(("begin", "end"), [(1056, 4032), (0, 1056)])
def test_damage_in_a_piece_that_the_range_contains_in_part_is_detected(written, recording, begin, end):
    tear(written, 1200 if end == 1056 else 40)  # outside the range

    with pytest.raises(CorruptRecordingError, match="position 0: the frames up to 2016"):
        read(recording, begin, end)


def test_data_that_the_index_does_not_cover_yet_is_read(written):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns)
    written.writer.flush(written.now_ns)

    assert read(written.archive.recording(0), 0, 128) == frames_at(0, [b"a", b"b"])


def test_a_piece_that_ends_behind_the_position_is_checked(written):
    written.append_block(frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN))
    written.stop(is_end_of_stream=False)
    assert read(written.archive.recording(0), 0, 64) == frame_at(0, b"a")
    tear(written, 64 + 32)

    with pytest.raises(CorruptRecordingError):
        read(written.archive.recording(0), 0, 64)


@pytest.mark.parametrize(
    "damage",
    [os.unlink, lambda path: os.truncate(path, 240), lambda path: path.write_bytes(b"\xff" * 2400)],
    ids=["missing", "short", "garbled"],
)
def test_an_index_that_does_not_cover_a_finished_segment_raises(written, recording, damage):
    damage(written.folder / f"0-{SEGMENT}.idx")

    with pytest.raises(CorruptRecordingError, match=f"0-{SEGMENT}.idx: is missing or damaged: it must cover"):
        read(recording)
    assert read(recording, 0, SEGMENT) == written.data()[:SEGMENT]


def test_the_index_of_a_stopped_recording_must_cover_all_of_it(written):
    written.append(b"a")
    written.append(b"b")
    written.stop()
    os.truncate(written.folder / "0-0.idx", 24)

    with pytest.raises(CorruptRecordingError, match=r"position 64: 0-0\.idx: is missing or damaged"):
        read(written.archive.recording(0), 0, 128)


def test_a_position_that_no_file_contains_raises_at_once(written, recording):
    written.stop()
    path = written.folder / "recording.json"
    end = 2**44
    path.write_text(
        path.read_text().replace(f'"stop_position": {5 * TERM_LENGTH}', f'"stop_position": {end}')
    )

    with pytest.raises(
        CorruptRecordingError, match=f"position {end}: must be within the files .* 0-262144.rec"
    ):
        read(recording, 0, end)


def test_purged_data_raises_as_before(written, recording):
    purge_before(written.store, 0, SEGMENT)

    with pytest.raises(DataLossError, match="position 0: was purged"):
        read(recording)
