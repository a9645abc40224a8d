"""Writing a recording, and its view for concurrent readers."""

import errno
import os

import pytest

from aeron_core.errors import CorruptRecordingError, DataLossError, ProtocolError, RecordingError
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.catalogue import update_descriptor
from aeron_core.recording.storage.index import MESSAGE_BORDER
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recording_writer import RecordingWriter
from aeron_core.recording.writing.recovery import Resumption
from aeron_core.testing.recordings import (
    MILLISECOND_NS,
    NOW_NS,
    TERM_LENGTH,
    RecordingUnderTest,
    frame_at,
    frames_at,
    padding_at,
)

BEGIN, END = 0x80, 0x40


def test_readers_see_flushed_data_only(written):
    block = frames_at(0, [b"a", b"bb"])

    written.writer.append(memoryview(block), NOW_NS)
    before = written.position
    written.writer.flush(NOW_NS)

    assert (before, written.position, written.data()) == (0, 128, block)


def test_readers_see_whole_messages_only_and_the_stream_continues_with_every_frame(written):
    written.append_block(frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN))

    assert (written.position, written.writer.recorded_position) == (64, 128)

    written.append_block(frame_at(128, b"c", flags=END))

    assert written.position == 192


def test_segments_hold_whole_terms_of_raw_frames(written):
    for _ in range(3):
        written.fill_term()

    recording = written.archive.recording(0)
    assert recording.segments() == [0, 2 * TERM_LENGTH]
    assert (written.folder / "0-0.rec").stat().st_size == 2 * TERM_LENGTH
    assert recording.position == 3 * TERM_LENGTH
    assert len(written.data()) == 3 * TERM_LENGTH


def test_only_the_header_of_padding_is_written(written):
    written.append(b"a")
    written.append_block(padding_at(64, TERM_LENGTH - 64)[:32] + b"x" * (TERM_LENGTH - 96))

    assert written.data() == frame_at(0, b"a") + padding_at(64, TERM_LENGTH - 64)


def test_a_recording_that_begins_within_a_term_leaves_a_hole_before_it(begin):
    start = TERM_LENGTH + 96
    written = begin(start_position=start)

    written.append(b"a")

    assert written.archive.recording(0).segments() == [TERM_LENGTH]
    assert written.data() == frame_at(start, b"a")


def test_an_invalid_frame_raises_and_is_not_written(written):
    written.append(b"a")

    with pytest.raises(ProtocolError, match="recording 0 position 128: no frame"):
        written.append_block(frame_at(64, b"b") + bytes(32))

    assert (written.position, written.writer.written_position) == (64, 64)


def test_the_index_has_recording_times_of_positions(written):
    written.append(b"a")
    written.append(b"b", b"c")

    entries = written.archive.recording(0).index_entries(0)

    assert entries["end_position"].tolist() == [64, 192]
    assert entries["time_ns"].tolist() == [NOW_NS + MILLISECOND_NS, NOW_NS + 2 * MILLISECOND_NS]
    assert entries["flags"].tolist() == [MESSAGE_BORDER, MESSAGE_BORDER]


def test_position_at_returns_the_end_of_data_recorded_before_a_time(written):
    for _ in range(4):
        written.fill_term()
    recording = written.archive.recording(0)

    assert recording.position_at(0) == 0
    assert recording.position_at(written.now_ns + 1) == 4 * TERM_LENGTH
    assert recording.position_at(written.now_ns) < 4 * TERM_LENGTH


def test_the_end_of_a_message_before_a_position_is_found(written):
    written.append(b"a", b"b")
    written.append(b"c")
    recording = written.archive.recording(0)

    assert recording.border_before(192, 0) == 192
    assert recording.border_before(160, 0) == 128
    assert recording.border_before(127, 0) == 0
    assert recording.border_before(127, 64) == 64


def test_a_stopped_recording_ends_behind_its_last_whole_message(written):
    written.append_block(frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN))

    written.stop(is_end_of_stream=False)

    recording = written.archive.recording(0)
    assert (recording.position, recording.is_live, recording.descriptor.stop_position) == (64, False, 64)
    assert recording.descriptor.stop_time_ns == written.now_ns


def test_reading_outside_of_the_recording_raises_with_the_range(written):
    written.append(b"a")
    recording = written.archive.recording(0)

    with pytest.raises(
        DataLossError, match="recording 0 position 128: was not recorded, the last position is 64"
    ):
        list(recording.read(0, 128))
    with pytest.raises(
        DataLossError, match="position -32: was purged or never recorded, the first available position is 0"
    ):
        list(recording.read(-32, 64))


def test_a_truncated_segment_raises_instead_of_ending_the_recording(written):
    written.append(b"a", b"b")
    os.truncate(written.folder / "0-0.rec", 64)

    with pytest.raises(CorruptRecordingError, match=r"0-0.rec: ends at position 64: must extend to 128"):
        written.data()


class FullDisk:
    """A disk with a limited capacity, which can be enlarged."""

    def __init__(self, monkeypatch, space):
        self.space = space
        self._pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", self.pwrite)

    def pwrite(self, fd, data, offset):
        if self.space == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._pwrite(fd, data[: self.space], offset)
        self.space -= written
        return written


@pytest.mark.parametrize("space", [0, 1, 31, 64, 100, 127])
def test_a_full_disk_stops_the_recording_and_free_space_continues_it_without_loss(
    written, monkeypatch, space
):
    disk = FullDisk(monkeypatch, space)
    block = frames_at(0, [b"a", b"bb"])

    with pytest.raises(
        RecordingError, match=r"cannot write .*0-0\.rec: No space left on device; \d+ bytes are"
    ):
        written.append_block(block)

    assert (written.position, written.writer.written_position) == (0, 0)
    disk.space = 10_000
    written.append_block(block)
    assert written.data() == block


def test_a_recording_that_stops_on_a_full_disk_ends_with_its_last_whole_write(written, monkeypatch):
    written.append(b"a")
    disk = FullDisk(monkeypatch, 40)
    with pytest.raises(RecordingError, match="No space left on device"):
        written.append(b"bb")
    disk.space = 10_000

    written.writer.stop(NOW_NS, is_end_of_stream=False)

    assert (written.folder / "0-0.rec").stat().st_size == written.position == 64
    recording = written.archive.recording(0)
    assert verify(written.archive.store, recording, NOW_NS, lambda length: None).faults == []


@pytest.mark.parametrize(
    ("policy", "due_at_once"),
    [(DurabilityPolicy.BLOCK, True), (DurabilityPolicy.NEVER, True), (DurabilityPolicy.INTERVAL, False)],
)
def test_written_data_is_due_as_the_policy_requires(tmp_path, policy, due_at_once):
    written = RecordingUnderTest.begin(tmp_path / "archive", policy=policy)
    assert not written.writer.is_due(NOW_NS + 10**12, is_waited_for=True)

    written.writer.append(memoryview(frame_at(0, b"a")), NOW_NS)

    assert written.writer.is_due(NOW_NS, is_waited_for=False) is due_at_once
    assert written.writer.is_due(NOW_NS, is_waited_for=True)
    assert written.writer.is_due(NOW_NS + 100_000_000, is_waited_for=False)


def test_only_a_policy_with_flushes_waits_for_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    for name, policy in (("a", DurabilityPolicy.NEVER), ("b", DurabilityPolicy.BLOCK)):
        written = RecordingUnderTest.begin(tmp_path / name, policy=policy)
        written.append(b"a")
        flushed.append(policy)

    assert flushed[0] is DurabilityPolicy.NEVER
    assert len(flushed) == 4  # the frames and the index


def test_data_of_a_failed_flush_is_written_again(tmp_path, monkeypatch):
    written = RecordingUnderTest.begin(tmp_path / "archive", policy=DurabilityPolicy.BLOCK)
    written.append(b"a")
    lost = frames_at(64, [b"b"])

    def fail(fd):
        os.pwrite(fd, bytes(len(lost)), 64)  # like pages that the kernel drops after a failed write
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(RecordingError, match="cannot flush"):
            written.append_block(lost)

    assert (written.writer.written_position, written.position) == (64, 64)
    written.append_block(lost)
    assert written.data() == frames_at(0, [b"a", b"b"])
    assert written.archive.recording(0).index_entries(0)["end_position"].tolist() == [64, 128]


def test_a_continued_recording_keeps_the_start_position_of_a_concurrent_purge(written):
    for _ in range(3):
        written.fill_term()
    found = written.writer.descriptor
    written.stop(is_end_of_stream=False)
    update_descriptor(written.store, 0, start_position=2 * TERM_LENGTH)

    end = Resumption(3 * TERM_LENGTH, 3 * TERM_LENGTH)
    written.writer = RecordingWriter(
        written.store, found, Durability(), now_ns=written.now_ns, resumption=end
    )
    written.append(b"a")

    recording = written.archive.recording(0)
    assert (recording.start_position, recording.position) == (2 * TERM_LENGTH, 3 * TERM_LENGTH + 64)
    assert recording.is_live
