"""Faults that a verification reports."""

import os

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import CorruptRecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading import verification
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.index import ENTRY, entry_bytes
from aeron_core.recording.storage.recording import Recording
from aeron_core.testing.recordings import TERM_LENGTH, frame_at, padding_at

SEGMENT = 2 * TERM_LENGTH
BEGIN = 0x80


def verified(written):
    seen = []
    result = verify(written.store, written.archive.recording(0), written.now_ns, seen.append)
    assert sum(seen) == result.end - result.begin
    return result


def faults(written):
    return [str(fault) for fault in verified(written).faults]


def damage(written, name, at, data):
    with (written.folder / name).open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.fixture
def sound(written):
    """An ended recording of two and a half segments."""
    for _ in range(5):
        written.fill_term()
    written.stop()
    return written


def test_a_valid_recording_has_no_fault_and_is_fully_covered_by_check_sums(sound):
    result = verified(sound)

    assert (result.faults, result.begin, result.end) == ([], 0, 5 * TERM_LENGTH)
    assert result.covered_length == 5 * TERM_LENGTH
    assert (result.frame_count, result.check_sum_count) == (5 * 63, 10)


def test_a_live_recording_is_verified_up_to_its_position(written):
    written.writer.beat(written.now_ns)
    written.append(b"a")
    written.writer.append(memoryview(frame_at(64, b"b")), written.now_ns)

    assert (verified(written).end, faults(written)) == (64, [])


def test_a_changed_byte_is_detected_by_the_check_sum(sound):
    damage(sound, "0-131072.rec", 100, b"\xff")

    (fault,) = faults(sound)

    assert fault.startswith("recording 0 position 131072: 0-131072.rec: checksum 0x")


def test_an_invalid_frame_is_reported_with_its_position(sound):
    frame_length = 1056 - 24
    at = (frame_length + 31) // 32 * 32
    damage(sound, "0-0.rec", at + 8, b"\x01\x02\x03\x04")

    (fault,) = faults(sound)

    assert fault.startswith(f"recording 0 position {at}: 0-0.rec: term offset=67305985: must be that of the")


def test_a_missing_segment_is_reported(sound):
    (sound.folder / "0-131072.rec").unlink()

    assert faults(sound) == ["recording 0 position 131072: 0-131072.rec: is missing"]


def test_a_segment_that_is_too_short_is_reported(sound):
    os.truncate(sound.folder / "0-131072.rec", 4096)

    assert faults(sound) == [
        f"recording 0 position {131072 + 4096}: 0-131072.rec: ends there: must extend to position 262144"
    ]


def test_every_fault_is_reported(sound):
    (sound.folder / "0-0.rec").unlink()
    damage(sound, "0-131072.rec", 100, b"\xff")
    damage(sound, "0-262144.rec", 100, b"\xff")

    assert len(faults(sound)) == 3


def test_a_torn_tail_is_reported_for_a_recording_without_a_recorder(written):
    written.append(b"a")
    damage(written, "0-0.rec", 64, frame_at(64, b"b" * 50)[:40])
    written.writer.beat(1)

    (fault,) = faults(written)

    assert fault.startswith(
        "recording 0 position 64: 0-0.rec: 40 bytes after the end are not whole frames: a frame that is cut short"
    )


def test_an_incomplete_message_behind_the_end_is_no_fault(written):
    written.append_block(frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN))
    written.stop(is_end_of_stream=False)

    assert (verified(written).end, faults(written)) == (64, [])


@pytest.mark.parametrize(
    "damage",
    [os.unlink, lambda path: os.truncate(path, 24), lambda path: path.write_bytes(b"\xff" * 240)],
    ids=["missing", "short", "garbled"],
)
def test_an_index_that_does_not_cover_its_segment_is_reported_and_the_frames_are_verified(sound, damage):
    damage(sound.folder / "0-131072.idx")

    result = verified(sound)

    (fault,) = result.faults
    assert fault.file == "0-131072.idx"
    assert fault.text == "is missing or damaged: it must cover the data up to 262144"
    assert result.frame_count == 5 * 63


def test_a_live_recording_may_have_no_checksum_at_its_end_only(written):
    for _ in range(3):
        written.fill_term()
    written.writer.beat(written.now_ns)
    for path in written.folder.glob("*.idx"):
        path.unlink()

    assert [fault.file for fault in verified(written).faults] == ["0-0.idx"]


def set_stop_position(written, position):
    path = written.folder / "recording.json"
    path.write_text(
        path.read_text().replace(f'"stop_position": {5 * TERM_LENGTH}', f'"stop_position": {position}')
    )


def test_a_stop_position_that_no_file_contains_is_reported_without_a_loop_up_to_it(sound):
    set_stop_position(sound, 2**46)

    assert [str(fault) for fault in verified(sound).faults] == [
        "recording 0 position 327680: 0-262144.rec: ends there: must extend to position 393216",
        f"recording 0 position 393216: 0-393216.rec: is missing, and all data up to {2**46}",
    ]


def test_a_stop_position_behind_the_last_term_is_refused(sound):
    set_stop_position(sound, 2**60)

    with pytest.raises(
        CorruptRecordingError, match="must be from 0 to 140737488355328, the end of the last term"
    ):
        verified(sound)


def test_a_file_that_is_no_segment_by_its_position_is_ignored(sound):
    (sound.folder / "0-64.rec").write_bytes(b"x")

    assert faults(sound) == []


def test_a_wrong_index_is_detected(sound):
    damage(sound, "0-0.idx", ENTRY.fields["crc32"][1], b"\0\0\0\0")

    (fault,) = faults(sound)

    assert "must be 0x00000000" in fault


def test_padding_is_verified_by_its_header(written):
    written.append(b"a")
    written.append_block(padding_at(64, TERM_LENGTH - 64))
    written.stop()

    assert (verified(written).frame_count, faults(written)) == (2, [])


def test_a_remote_archive_is_verified_like_a_local_one(sound, monkeypatch):
    damage(sound, "0-131072.rec", 100, b"\xff")
    monkeypatch.setattr(type(sound.store), "local_path", lambda store, name: None)

    assert len(faults(sound)) == 1
    assert Archive.open(sound.store.folder).recording(0).position == 5 * TERM_LENGTH


def test_padding_of_a_dead_recorder_may_lack_its_body(written):
    written.append(b"a")
    damage(written, "0-0.rec", 64, padding_at(64, TERM_LENGTH - 64)[:32])
    written.writer.beat(1)

    assert faults(written) == []


def test_an_end_within_padding_is_a_fault(sound):
    end = 5 * TERM_LENGTH - 32
    set_stop_position(sound, end)
    (sound.folder / "0-262144.idx").unlink()

    assert faults(sound)[0] == (
        f"recording 0 position {end}: 0-262144.rec: padding extends to position {end + 32}: must end here"
    )


class TruncatingStore(LocalStore):
    """A store in which 0-0.rec is truncated after its size was read twice, as by a recorder that continues it."""

    def __init__(self, folder, length):
        super().__init__(folder)
        self.length = length
        self.count = 0

    def size(self, name):
        found = super().size(name)
        self.count += name == "0/0-0.rec"
        if self.count == 2:  # the second time for the tail
            os.truncate(self.folder / name, self.length)
        return found


def test_a_tail_that_is_truncated_meanwhile_is_no_fault(written):
    written.append(b"a")
    damage(written, "0-0.rec", 64, frame_at(64, b"b" * 50)[:40])
    written.writer.beat(1)
    store = TruncatingStore(written.store.folder, 64)

    assert verify(store, Recording(store, 0), written.now_ns, lambda length: None).faults == []


def test_a_long_tail_is_verified_in_pieces(written, monkeypatch):
    monkeypatch.setattr(verification, "CHUNK_LENGTH", 200)
    written.append(b"a")
    written.append_block(b"".join(frame_at(64 + 96 * index, b"b" * 64, flags=0) for index in range(20)))
    written.writer.beat(1)
    assert faults(written) == []

    damage(written, "0-0.rec", 64 + 96 * 7, b"\xff\xff\xff\xff")

    assert faults(written)[0].startswith(
        f"recording 0 position {64 + 96 * 7}: 0-0.rec: {96 * 13} bytes after the end"
    )


def test_an_index_entry_that_ends_within_padding_is_a_fault(written):
    written.append_block(padding_at(0, 128))
    written.stop()
    crc32 = check_sum(AtomicBuffer(padding_at(0, 128)), 0, 64)
    damage(written, "0-0.idx", 0, entry_bytes(64, written.now_ns, crc32, is_border=True))

    assert faults(written)[0] == (
        "recording 0 position 64: 0-0.rec: padding extends to position 128: must end here"
    )
