"""Recovery of damaged recordings after the death of a recorder: damage is kept and reported."""

import os

import pytest
from dead_writers import LATER_NS, content, die, faults, resume, tear

from aeron_core.errors import CorruptRecordingError, RecordingError
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.storage import mark
from aeron_core.recording.writing.continuation import stop_interrupted_recordings
from aeron_core.recording.writing.durability import DurabilityPolicy
from aeron_core.recording.writing.recovery import Resumption, recover
from aeron_core.testing.recordings import (
    RecordingUnderTest,
    frames_at,
)


@pytest.mark.parametrize("at", [0, 6, 8, 32], ids=["length", "type", "term offset", "payload"])
def test_damage_of_the_last_covered_data_is_kept_reported_and_found_by_readers(written, at):
    written.append(b"a")
    written.append(b"b")
    tear(written, b"\x07", 64 + at)
    die(written)

    resumption = resume(written)
    written.append(b"c")

    assert resumption == Resumption(128, 128)
    assert [text.partition(";")[0] for text in resumption.damage] == [
        "recording 0 position 64: 0-0.rec: the frames up to 128 do not have the checksums of 0-0.idx"
    ]
    assert "`aeron-core recordings verify --accept`" in resumption.damage[0]
    assert faults(written) == [(64, "0-0.rec")]
    read = []
    with pytest.raises(CorruptRecordingError, match="recording 0 position 64: "):
        read.extend(messages(written.archive.recording(0), 0, 192))
    assert next(messages(written.archive.recording(0), 128, 192)).payload == b"c"


def test_several_damaged_pieces_are_one_report(written):
    for payload in (b"a", b"b", b"c"):
        written.append(payload)
    tear(written, b"x", 64 + 32)
    tear(written, b"x", 128 + 32)
    die(written)

    (text,) = resume(written).damage

    assert text.startswith("recording 0 position 64: 0-0.rec: the frames up to 192 do not have the checksums")
    assert faults(written) == [(64, "0-0.rec"), (128, "0-0.rec")]


def test_written_data_behind_damage_is_kept(written):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b", b"c"])), written.now_ns)
    tear(written, b"x", 32)
    die(written)

    assert resume(written) == Resumption(192, 192)
    assert faults(written) == [(0, "0-0.rec")]


def garble_an_entry(written):
    with (written.folder / "0-0.idx").open("r+b") as file:
        file.seek(24)
        file.write(b"\x07")


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (garble_an_entry, (64, "0-0.idx")),
        (lambda written: (written.folder / "0-0.idx").unlink(), (0, "0-0.idx")),
        (lambda written: os.truncate(written.folder / "0-0.rec", 64), (64, "0-0.rec")),
    ],
    ids=["an entry of the index", "no index", "frames that are missing"],
)
def test_files_that_cannot_be_continued_are_kept_as_they_are(written, damage, fault, reported):
    written.append(b"a")
    written.append(b"b")
    written.append(b"c")
    damage(written)
    die(written)
    before = content(written)

    resumption = recover(written.store, 0, LATER_NS)

    assert not resumption.can_continue
    assert len(resumption.damage) == 1
    assert content(written) == before
    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=False, report=reported.append)
    assert [type(error) for error in reported] == [CorruptRecordingError]
    assert written.archive.recording(0).descriptor.stop_position == 192
    assert faults(written) == [fault]


def test_flushed_data_that_a_crash_of_the_machine_does_not_explain_is_kept(begin, monkeypatch, reported):
    written = begin(policy=DurabilityPolicy.BLOCK)
    written.append(b"a")
    written.append(b"b")
    tear(written, b"x", 64 + 32)
    die(written)
    monkeypatch.setattr(mark, "boot_id", lambda: "another-boot")

    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=True, report=reported.append)

    assert [str(error).partition(":")[0] for error in reported] == ["recording 0 position 64"]
    assert faults(written) == [(64, "0-0.rec")]


def test_data_that_was_not_flushed_before_a_crash_of_the_machine_is_no_damage(begin, monkeypatch):
    written = begin(policy=DurabilityPolicy.BLOCK)
    written.append(b"a")
    # Covered, and not flushed.
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns + 10**7)
    tear(written, bytes(64), 64)
    die(written)
    monkeypatch.setattr(mark, "boot_id", lambda: "another-boot")

    assert recover(written.store, 0, LATER_NS) == Resumption(64, 64)
    assert (written.folder / "0-0.rec").stat().st_size == 64
    assert recover(written.store, 0, LATER_NS).damage == ()


def test_a_damaged_mark_is_kept_under_another_name_and_stops_no_other_recording(written, reported):
    other = RecordingUnderTest.begin(written.store.folder, session_id=12)
    written.append(b"a")
    other.append(b"b")
    tear_mark = written.folder / "mark"
    tear_mark.write_bytes(b"x" + tear_mark.read_bytes()[1:])
    die(written)
    die(other)

    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=False, report=reported.append)

    (error,) = reported
    assert str(error).endswith("bytes that begin with MARK and version 1; it is kept as mark.damaged")
    assert [recording.is_live for recording in written.archive.recordings()] == [False, False]
    assert other.archive.recording(1).position == 64


def test_an_index_that_cannot_be_read_is_reported_and_stops_no_other_recording(written, reported):
    other = RecordingUnderTest.begin(written.store.folder, session_id=12)
    written.append(b"a")
    other.append(b"b")
    die(written)
    die(other)
    (written.folder / "0-0.idx").unlink()
    (written.folder / "0-0.idx").mkdir()

    stop_interrupted_recordings(written.archive, LATER_NS, is_same_driver=False, report=reported.append)

    (error,) = reported
    assert type(error) is RecordingError
    assert "0-0.idx: Is a directory" in str(error)
    assert [recording.is_live for recording in written.archive.recordings()] == [True, False]
