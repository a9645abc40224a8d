"""Notices about what recovery truncates."""

import pytest
from dead_writers import LATER_NS, die, resume, tear

from aeron_core.recording.reading.verification import verify
from aeron_core.recording.retention.states import RECORDER_TIMEOUT_NS
from aeron_core.recording.storage import mark
from aeron_core.recording.storage.catalogue import update_descriptor
from aeron_core.recording.writing.continuation import stop_interrupted_recordings
from aeron_core.recording.writing.durability import DurabilityPolicy
from aeron_core.recording.writing.recovery import recover
from aeron_core.testing.recordings import NOW_NS, frame_at, frames_at

BEGIN = 0x80


@pytest.fixture
def restart_machine(monkeypatch):
    return lambda: monkeypatch.setattr(mark, "boot_id", lambda: "another-boot")


def notices(written):
    found = []
    stop_interrupted_recordings(
        written.archive, LATER_NS, is_same_driver=False, report=pytest.fail, notify=found.append
    )
    return found


def test_a_recording_whose_frames_are_whole_has_lost_nothing(written):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), NOW_NS)
    written.append_block(frame_at(128, b"c", flags=BEGIN))
    die(written)

    assert recover(written.store, 0, LATER_NS).lost is None


def test_a_frame_that_a_dead_recorder_has_not_completed_is_delivered_again(written):
    written.append(b"a")
    tear(written, frame_at(64, b"b" * 20)[:40], 64)
    die(written)

    lost = resume(written).lost

    assert (lost.begin, lost.end) == (64, 104)
    assert lost.notice(continues=True) == (
        "recording 0: 0-0.rec: lost 40 bytes at the end, positions 64 to 104: the recorder ended while it wrote "
        "them; the stream delivers them again"
    )


@pytest.mark.parametrize("is_covered", [False, True])
def test_data_that_was_not_flushed_before_a_crash_of_the_machine_is_in_the_notice(
    begin, restart_machine, is_covered
):
    written = begin(policy=DurabilityPolicy.BLOCK)
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b"])), written.now_ns + 10**7 * is_covered)
    if is_covered:
        tear(written, bytes(64), 64)
    die(written)
    restart_machine()

    assert notices(written) == [
        "recording 0: 0-0.rec: lost 64 bytes at the end, positions 64 to 128: the machine has restarted, or the mark "
        "is missing, and they may not have been on the disk"
    ]
    assert notices(written) == []


def test_a_notice_has_the_published_position(begin, restart_machine):
    written = begin(policy=DurabilityPolicy.NEVER)
    written.append(b"a")
    written.append(b"b", b"c")
    tear(written, bytes(64), 64)
    die(written)
    restart_machine()

    assert notices(written) == [
        "recording 0: 0-0.rec: lost 128 bytes at the end, positions 64 to 192: the machine has restarted, or the mark "
        "is missing, and they may not have been on the disk; readers may have read up to 192"
    ]


def test_a_stopped_recording_whose_end_never_reached_the_disk_has_a_notice(begin, restart_machine):
    written = begin(policy=DurabilityPolicy.NEVER)
    written.append(b"a")
    written.append(b"b")
    tear(written, bytes(64), 64)
    die(written)
    # As `stop` stores it, which flushes the messages only if the policy does.
    update_descriptor(written.store, 0, stop_position=128, stop_time_ns=NOW_NS)
    restart_machine()

    for _ in range(2):  # each recovery reports it
        lost = recover(written.store, 0, LATER_NS).lost
        assert (lost.begin, lost.end, lost.shown) == (64, 128, 128)


def test_files_that_never_reached_the_disk_are_in_the_notice(begin, restart_machine):
    written = begin(policy=DurabilityPolicy.NEVER)
    written.append(b"a")
    die(written)
    for name in ("0-0.rec", "0-0.idx"):
        (written.folder / name).unlink()
    restart_machine()

    lost = recover(written.store, 0, LATER_NS).lost

    assert (lost.file, lost.begin, lost.end, lost.is_written) == ("0-0.rec", 0, 64, False)


def test_verification_counts_whole_frames_that_a_dead_recorder_has_not_published(written):
    written.append(b"a")
    written.writer.append(memoryview(frames_at(64, [b"b", b"c"])), written.now_ns)
    die(written)
    recording = written.archive.recording(0)

    lengths = [
        verify(written.store, recording, now_ns, lambda length: None).unpublished_length
        for now_ns in (written.now_ns, written.now_ns + 2 * RECORDER_TIMEOUT_NS)
    ]

    assert lengths == [0, 128]


def test_verification_of_a_stopped_recording_needs_no_mark(written):
    written.append(b"a")
    die(written)
    update_descriptor(written.store, 0, stop_position=64, stop_time_ns=NOW_NS)
    (written.folder / "mark").write_bytes(b"x" * 5_000)

    found = verify(written.store, written.archive.recording(0), LATER_NS, lambda length: None)

    assert (found.faults, found.unpublished_length) == ([], 0)
