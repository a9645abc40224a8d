"""Commits of batches into an archive: each row is recorded exactly once."""

import pytest
from pyspark_aeron.writing import delivering

from aeron_core.errors import CorruptRecordingError


def test_a_commit_that_fails_after_writing_is_neither_repeated_nor_undone(
    archived, out, payloads, monkeypatch
):
    def fail(staged):
        raise OSError("the machine is on fire")

    first = archived.stage(0, 0, b"a", b"b")
    with monkeypatch.context() as patch:
        patch.setattr(delivering, "discard", fail)
        with pytest.raises(OSError, match="on fire"):
            archived.commit(0, first)
    archived.writer.abort([first], 0)
    archived.commit(0, archived.stage(0, 0, b"a", b"b"))
    archived.commit(1, archived.stage(1, 0, b"c"))

    assert payloads(out) == [b"a", b"b", b"c"]


def test_partitions_are_appended_in_order_without_failed_tasks(archived, out, payloads):
    archived.commit(0, archived.stage(0, 1, b"b"), None, archived.stage(0, 0, b"a"), archived.stage(0, 2))

    assert payloads(out) == [b"a", b"b"]


def test_files_of_dead_tasks_are_deleted_with_a_later_batch(archived, out):
    archived.stage(0, 0, b"never asked for")
    archived.commit(1, archived.stage(1, 0, b"a"))

    assert not list((out / "staging").rglob("*.rows"))


def test_a_batch_without_rows_creates_no_recording(archived, out):
    archived.commit(0)

    assert not out.exists()


def test_an_index_that_lost_entries_is_not_continued(archived, out):
    archived.commit(0, archived.stage(0, 0, b"a"))
    (out / "0/0-0.idx").write_bytes(b"")

    with pytest.raises(CorruptRecordingError, match=r"must cover the data up to 64; .*--accept"):
        archived.commit(1, archived.stage(1, 0, b"b"))
