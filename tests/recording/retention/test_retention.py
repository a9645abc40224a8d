"""Purge and retention."""

import pytest

from aeron_core.errors import (
    ConfigurationError,
    CorruptRecordingError,
    DataLossError,
    RecordingError,
    RecordingNotFoundError,
)
from aeron_core.recording.retention.leases import write_lease
from aeron_core.recording.retention.purge import delete_orphans, purge_before, purge_recording
from aeron_core.recording.retention.retention import Retention, RetentionPolicy
from aeron_core.recording.storage.catalogue import keep_reserve
from aeron_core.testing.recordings import NOW_NS, TERM_LENGTH, RecordingUnderTest

SEGMENT = 2 * TERM_LENGTH
S = 1_000_000_000
HOUR_NS = 3600 * S


@pytest.fixture
def three(written):
    """A live recording of two and a half segments."""
    for _ in range(5):
        written.fill_term()
    written.writer.beat(written.now_ns)
    return written


def names_in(written):
    return sorted(path.name for path in written.folder.iterdir() if path.suffix in {".rec", ".idx"})


def apply(written, policy, now_ns=None):
    """Apply a policy until it is idle; return the reported errors."""
    errors = []
    retention = Retention(written.archive, policy, lambda error: errors.append(str(error)))
    now_ns = now_ns or written.now_ns
    while retention.do_work(now_ns):
        pass
    return errors


def test_a_purge_deletes_whole_segments_before_a_position(three):
    deleted = purge_before(three.store, 0, 2 * SEGMENT - 32)

    recording = three.archive.recording(0)
    assert (deleted, recording.start_position, recording.segments()) == (
        SEGMENT,
        SEGMENT,
        [SEGMENT, 2 * SEGMENT],
    )
    assert names_in(three) == ["0-131072.idx", "0-131072.rec", "0-262144.idx", "0-262144.rec"]
    with pytest.raises(
        DataLossError,
        match=f"position 0: was purged or never recorded, the first available position is {SEGMENT}",
    ):
        list(recording.read(0, SEGMENT))


def test_a_purge_keeps_the_last_segment_and_the_recording_continues(three):
    purge_before(three.store, 0, 2**62)
    three.fill_term()
    three.append(b"a")

    recording = three.archive.recording(0)
    assert (recording.start_position, recording.position) == (2 * SEGMENT, 3 * SEGMENT + 64)
    assert len(three.data()) == SEGMENT + 64


def test_a_first_segment_that_begins_within_a_term_is_kept_until_its_end(begin):
    written = begin(start_position=TERM_LENGTH + 96)
    for _ in range(3):
        written.fill_term()

    purge_before(written.store, 0, 3 * TERM_LENGTH - 32)
    assert written.archive.recording(0).start_position == TERM_LENGTH + 96
    purge_before(written.store, 0, 3 * TERM_LENGTH)
    assert written.archive.recording(0).start_position == 3 * TERM_LENGTH


def test_purging_twice_changes_nothing(three):
    purge_before(three.store, 0, SEGMENT)

    assert purge_before(three.store, 0, SEGMENT) == 0
    assert purge_before(three.store, 0, 0) == 0
    assert three.archive.recording(0).start_position == SEGMENT


def test_a_recorder_deletes_the_files_of_an_interrupted_purge(three):
    left = {name: (three.folder / name).read_bytes() for name in ("0-0.rec", "0-0.idx")}
    purge_before(three.store, 0, SEGMENT)
    for name, data in left.items():
        (three.folder / name).write_bytes(data)
    (three.store.folder / ".purged-7").mkdir()

    delete_orphans(three.store, [].append)

    assert names_in(three)[0] == "0-131072.idx"
    assert not (three.store.folder / ".purged-7").exists()


def test_a_recording_is_purged_unless_it_is_live(three):
    with pytest.raises(RecordingError, match=r"recording 0 in .*: is being recorded"):
        purge_recording(three.store, 0, three.now_ns)

    with three.archive.recorder_lock(), pytest.raises(RecordingError, match="is running; stop that recorder"):
        purge_recording(three.store, 0, three.now_ns + HOUR_NS)  # its disk may be stalled
    three.stop()

    assert purge_recording(three.store, 0, three.now_ns) == 5 * TERM_LENGTH
    assert not three.folder.exists()
    with pytest.raises(RecordingNotFoundError):
        three.archive.recording(0)


@pytest.mark.parametrize(
    ("max_bytes", "start"),
    [
        (5 * TERM_LENGTH, 0),
        (5 * TERM_LENGTH - 1, SEGMENT),
        (3 * TERM_LENGTH, SEGMENT),
        (TERM_LENGTH, 2 * SEGMENT),
    ],
)
def test_the_oldest_segments_are_deleted_while_the_archive_is_too_large(three, max_bytes, start):
    errors = apply(three, RetentionPolicy(max_bytes=max_bytes))

    assert three.archive.recording(0).start_position == start
    assert errors == []


def test_bytes_that_cannot_be_deleted_are_reported_once(three):
    errors = []
    retention = Retention(
        three.archive, RetentionPolicy(max_bytes=1), lambda error: errors.append(str(error))
    )
    for seconds in range(60):
        three.writer.beat(three.now_ns + seconds * S)
        retention.do_work(three.now_ns + seconds * S)

    assert three.archive.recording(0).start_position == 2 * SEGMENT
    assert len(errors) == 1
    assert errors[0].endswith(
        "1 (in bytes); what is needed by a recorder exceeds it by 65535; raise the limit"
    )


def test_segments_are_deleted_when_their_last_frame_is_too_old(three):
    policy = RetentionPolicy(max_age_ns=HOUR_NS)
    segment_ns = int(three.archive.recording(0).index_entries(0)["time_ns"][-1])

    apply(three, policy, segment_ns + HOUR_NS)
    assert three.archive.recording(0).start_position == 0
    apply(three, policy, segment_ns + HOUR_NS + 1)
    assert three.archive.recording(0).start_position == SEGMENT


def test_an_ended_recording_is_deleted_with_its_last_segment(three):
    three.stop()

    apply(three, RetentionPolicy(max_age_ns=HOUR_NS), three.now_ns + 2 * HOUR_NS)

    assert three.archive.recordings() == []


def test_a_recording_of_batches_keeps_its_last_segment_and_last_batch_id(
    begin,
):
    appended = begin(appender="query-1", last_batch_id=7)
    for _ in range(3):
        appended.fill_term()
    appended.stop()

    apply(appended, RetentionPolicy(max_age_ns=1), appended.now_ns + HOUR_NS)

    descriptor = appended.archive.recording(0).descriptor
    assert (descriptor.last_batch_id, descriptor.start_position) == (7, SEGMENT)


def test_segments_that_a_lease_needs_are_kept(three):
    write_lease(three.store, "spark", {0: SEGMENT + 64}, three.now_ns)

    errors = apply(three, RetentionPolicy(max_bytes=1))

    assert three.archive.recording(0).start_position == SEGMENT
    assert "needed by consumer 'spark'" in errors[0]


def test_an_expired_lease_does_not_hold_segments(three):
    write_lease(three.store, "spark", {0: 0}, three.now_ns - 2 * HOUR_NS)

    apply(three, RetentionPolicy(max_bytes=1, lease_timeout_ns=HOUR_NS))

    assert three.archive.recording(0).start_position == 2 * SEGMENT


@pytest.mark.parametrize(("is_end_of_stream", "count"), [(True, 0), (False, 1)])
def test_a_reader_at_the_end_holds_a_recording_that_may_continue(three, is_end_of_stream, count):
    three.stop(is_end_of_stream=is_end_of_stream)
    write_lease(three.store, "spark", {0: 5 * TERM_LENGTH}, three.now_ns + HOUR_NS)

    apply(three, RetentionPolicy(max_age_ns=HOUR_NS), three.now_ns + 2 * HOUR_NS)

    assert len(three.archive.recordings()) == count


def test_the_oldest_segments_of_several_recordings_are_deleted(tmp_path):
    first, second = (RecordingUnderTest.begin(tmp_path / "archive") for _ in range(2))
    second.now_ns = first.now_ns + S
    for written in (first, second):
        for _ in range(4):
            written.fill_term()
        written.writer.beat(NOW_NS + 2 * S)

    apply(first, RetentionPolicy(max_bytes=3 * SEGMENT), NOW_NS + 2 * S)

    assert [recording.start_position for recording in first.archive.recordings()] == [SEGMENT, 0]


def test_a_duty_cycle_deletes_at_most_one_segment(three):
    retention = Retention(three.archive, RetentionPolicy(max_bytes=1), lambda error: None)

    assert [retention.do_work(three.now_ns) for _ in range(3)] == [SEGMENT, SEGMENT, 0]


def test_nothing_is_purged_while_a_lease_is_unreadable(three):
    write_lease(three.store, "spark", {0: 0}, three.now_ns)
    (three.store.folder / "consumers" / "spark.json").write_text("{")

    (error,) = apply(three, RetentionPolicy(max_bytes=1))

    assert "spark.json" in error
    assert three.archive.recording(0).start_position == 0


@pytest.mark.parametrize("field", ["max_bytes", "max_age_ns", "lease_timeout_ns"])
def test_limits_must_be_positive(field):
    with pytest.raises(ConfigurationError, match=f"retention {field}=0: must be at least 1"):
        RetentionPolicy(**{field: 0})


def test_a_purge_on_a_full_disk_uses_the_reserve_and_restores_it(three, monkeypatch):
    keep_reserve(three.store)
    reserve = three.store.folder / "reserve"
    assert reserve.stat().st_size == 65536
    write = three.store.write

    def write_without_reserve(name, data):
        if reserve.exists():
            raise RecordingError(f"cannot write {name}: No space left on device")
        write(name, data)

    monkeypatch.setattr(three.store, "write", write_without_reserve)

    assert purge_before(three.store, 0, SEGMENT) == SEGMENT
    assert three.archive.recording(0).start_position == SEGMENT
    assert reserve.exists()


def test_a_reader_that_is_overtaken_by_a_purge_gets_a_data_loss_error(three):
    pieces = three.archive.recording(0).read(0, 5 * TERM_LENGTH, TERM_LENGTH)
    next(pieces)

    purge_before(three.store, 0, 2 * SEGMENT)

    with pytest.raises(
        DataLossError,
        match=f"position {TERM_LENGTH}: was purged or never recorded, the first available position is",
    ):
        next(pieces)


def test_a_reader_that_is_not_overtaken_continues(three):
    pieces = three.archive.recording(0).read(SEGMENT, 5 * TERM_LENGTH, TERM_LENGTH)
    next(pieces)

    purge_before(three.store, 0, SEGMENT)

    assert sum(len(data) for _, data in pieces) == 2 * TERM_LENGTH


def test_a_missing_segment_is_not_reported_as_purged(three):
    (three.folder / "0-0.rec").unlink()

    with pytest.raises(CorruptRecordingError, match=r"0-0\.rec: is missing"):
        list(three.archive.recording(0).read(0, SEGMENT))
