"""Recovery after the death of a recorder."""

import os

import pytest
from dead_writers import LATER_NS, die, faults, resume, tear

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording.storage import file_store, mark
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.index import entry_bytes
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.continuation import stop_interrupted_recordings
from aeron_core.recording.writing.recovery import Resumption, recover
from aeron_core.recording.writing.segment_writer import SegmentWriter
from aeron_core.testing.recordings import (
    NOW_NS,
    TERM_LENGTH,
    RecordingUnderTest,
    frame_at,
    frames_at,
    padding_at,
)

BEGIN, END = 0x80, 0x40


def test_a_recording_continues_at_its_position(written):
    written.append(b"a", b"b")
    die(written)

    assert resume(written) == Resumption(128, 128)
    written.append(b"c")

    assert written.data() == frames_at(0, [b"a", b"b", b"c"])


@pytest.mark.parametrize("start", [TERM_LENGTH, TERM_LENGTH + 64])
def test_a_recording_without_a_frame_continues_at_its_start(begin, start):
    written = begin(start_position=start)
    die(written)

    assert resume(written) == Resumption(start, start)


@pytest.mark.parametrize("cut", [1, 31, 32, 63])
def test_an_incomplete_frame_is_truncated(written, cut):
    written.append(b"a")
    tear(written, frame_at(64, b"b" * 20)[:cut], 64)
    die(written)

    assert resume(written) == Resumption(64, 64)
    assert (written.folder / "0-0.rec").stat().st_size == 64


def test_whole_frames_behind_the_mark_are_kept(written):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b", b"c"])), NOW_NS)
    die(written)

    resume(written)
    written.append(b"d")

    assert written.data() == frames_at(0, [b"a", b"b", b"c", b"d"])
    assert written.archive.recording(0).index_entries(0)["end_position"].tolist() == [64, 192, 256]


def test_after_a_machine_crash_only_data_that_the_index_covers_is_kept(written, monkeypatch):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns)
    die(written)
    monkeypatch.setattr(mark, "boot_id", lambda: "another-boot")

    assert resume(written) == Resumption(64, 64)


def test_data_with_a_wrong_check_sum_is_truncated(written):
    written.append(b"a")
    written.append(b"b")
    tear(written, b"x", 64 + 32)
    (written.folder / "mark").unlink()  # without a mark, a machine crash must be assumed
    die(written)

    assert resume(written) == Resumption(64, 64)


def test_a_truncated_index_is_completed(written):
    written.append(b"a")
    written.append(b"b")
    os.truncate(written.folder / "0-0.idx", 24 + 11)
    die(written)

    assert resume(written) == Resumption(128, 128)
    assert written.archive.recording(0).index_entries(0)["end_position"].tolist() == [64, 128]


def test_an_incomplete_message_continues(written):
    written.append_block(frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN))
    die(written)

    assert resume(written) == Resumption(128, 64)
    assert written.position == 64
    written.append_block(frame_at(128, b"c", flags=END))
    assert written.position == 192


def test_a_recording_continues_in_its_next_segment(written):
    written.fill_term()
    written.fill_term()
    die(written)

    assert resume(written).position == 2 * TERM_LENGTH
    written.append(b"a")

    assert written.archive.recording(0).segments() == [0, 2 * TERM_LENGTH]
    assert written.data()[-64:] == frame_at(2 * TERM_LENGTH, b"a")


def test_padding_at_the_end_of_a_segment_is_kept(written):
    written.append(b"a")
    written.append_block(padding_at(64, TERM_LENGTH - 64))
    die(written)

    assert resume(written).position == TERM_LENGTH


def test_a_recorder_that_died_after_the_header_of_padding_continues_after_it(written):
    written.append(b"a")
    tear(written, padding_at(64, TERM_LENGTH - 64)[:32], 64)
    die(written)

    assert resume(written) == Resumption(TERM_LENGTH, TERM_LENGTH)
    written.append(b"b")
    assert written.data()[TERM_LENGTH:] == frame_at(TERM_LENGTH, b"b")
    assert faults(written) == []


def test_an_index_entry_that_ends_before_the_recording_begins_is_ignored(begin):
    written = begin(start_position=96)
    written.append(b"a")
    die(written)
    (written.folder / "0-0.idx").write_bytes(entry_bytes(32, NOW_NS, 0, is_border=True))
    (written.folder / "mark").unlink()

    assert recover(written.store, 0, LATER_NS) == Resumption(96, 96)
    assert len(written.archive.recording(0).all_index_entries(0)) == 0


def test_an_index_entry_that_ends_within_padding_is_where_the_recording_continues(written):
    written.append_block(padding_at(0, 128))
    die(written)
    crc32 = check_sum(AtomicBuffer(padding_at(0, 128)), 0, 64)
    (written.folder / "0-0.idx").write_bytes(entry_bytes(64, NOW_NS, crc32, is_border=False))
    (written.folder / "mark").unlink()

    assert recover(written.store, 0, LATER_NS) == Resumption(64, 64)


def test_recovering_twice_changes_nothing(written):
    written.append(b"a", b"b")
    tear(written, b"x" * 40, 128)
    die(written)

    first = recover(written.store, 0, LATER_NS)
    index = (written.folder / "0-0.idx").read_bytes()

    assert recover(written.store, 0, LATER_NS) == first
    assert (written.folder / "0-0.idx").read_bytes() == index


def test_after_a_machine_crash_a_recording_ends_with_its_flushed_data(written, monkeypatch, reported):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns)
    written.writer._mark.move(128)  # as a page that was written back before the frames
    die(written)

    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=True, report=reported.append)
    assert written.archive.recording(0).is_live  # its recorder died, and it may continue
    monkeypatch.setattr(mark, "boot_id", lambda: "another-boot")
    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=True, report=reported.append)

    recording = written.archive.recording(0)
    assert (recording.is_live, recording.position, written.data()) == (False, 64, frames_at(0, [b"a"]))
    resume(written)
    assert written.archive.recording(0).is_live


def test_after_the_end_of_its_driver_a_recording_ends_with_its_written_data(written, reported):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns)
    die(written)

    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=False, report=reported.append)

    recording = written.archive.recording(0)
    assert (recording.is_live, written.data()) == (False, frames_at(0, [b"a", b"b"]))


def test_recovery_flushes_data_before_readers_see_it(written, monkeypatch):
    written.writer.append(memoryview(frames_at(0, [b"a"])), NOW_NS)
    die(written)
    flushed = []
    flush = SegmentWriter.flush
    monkeypatch.setattr(
        SegmentWriter, "flush", lambda writer: (flushed.append(writer._segment), flush(writer))
    )

    resume(written)

    assert flushed == [written.folder / "0-0.rec"]


def test_readers_find_a_complete_mark_while_the_next_recorder_creates_one(written, monkeypatch):
    written.append(b"a")
    die(written)
    seen = []
    create = mark.create_mapped_file

    def create_and_read(*arguments, **options):
        buffer = create(*arguments, **options)
        seen.append(Recording(written.store, 0).position)
        return buffer

    monkeypatch.setattr(mark, "create_mapped_file", create_and_read)
    resume(written)

    assert seen == [64]


def test_folders_are_flushed_before_their_content(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(file_store, "sync_folder", synced.append)

    RecordingUnderTest.begin(tmp_path / "deep" / "archive")

    assert {tmp_path, tmp_path / "deep", tmp_path / "deep" / "archive"} <= set(synced)
