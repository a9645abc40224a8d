"""Batches of messages that are appended exactly once."""

import os

import numpy as np
import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading.message_columns import MessageColumns
from aeron_core.recording.reading.message_scanner import MessageScanner
from aeron_core.recording.writing import recording_writer
from aeron_core.recording.writing.batch_appender import AppenderParams, BatchAppender, MessageColumn
from aeron_core.testing.recordings import TERM_LENGTH

PARAMS = AppenderParams("spark:test", 5, term_length=TERM_LENGTH, segment_length=2 * TERM_LENGTH)


def column(*messages, reserved_values=None):
    boundaries = np.cumsum([0, *map(len, messages)], dtype=np.int64)
    values = None if reserved_values is None else np.array(reserved_values, np.int64)
    return MessageColumn(
        AtomicBuffer(b"".join(messages)), AtomicBuffer(boundaries.tobytes()), len(messages), values
    )


@pytest.fixture
def archive(tmp_path):
    return Archive.create(tmp_path / "archive")


@pytest.fixture
def appender(archive):
    return BatchAppender(archive, "query-1", PARAMS)


def rows(archive, recording_id=0):
    """Return (payload, reserved value) of all messages."""
    recording = archive.recording(recording_id)
    data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
    columns = MessageColumns(100_000, max(len(data), 1))
    scanned = MessageScanner(recording.scanner()).scan(AtomicBuffer(data), 0, len(data), 0, columns)
    assert scanned == len(data)
    at = np.frombuffer(columns.boundaries, np.int32, columns.count + 1)
    payload = bytes(memoryview(columns.payload))
    values = np.frombuffer(columns.reserved_values, np.int64, columns.count)
    return [(payload[at[i] : at[i + 1]], int(values[i])) for i in range(columns.count)]


def payloads(archive, recording_id=0):
    return [payload for payload, _ in rows(archive, recording_id)]


def test_batches_are_appended_in_order(archive, appender):
    appender.append(0, [column(b"a", b"bb"), column(b"")])
    appender.append(1, [column(b"c")])

    assert payloads(archive) == [b"a", b"bb", b"", b"c"]


def test_a_committed_batch_is_not_appended_again(archive, appender):
    appender.append(0, [column(b"a")])
    appender.append(1, [column(b"b")])

    appender.append(1, [column(b"b")])
    again = BatchAppender(Archive.open(archive.uri), "query-1", PARAMS).append(1, [column(b"b")])

    assert (payloads(archive), again.last_batch_id) == ([b"a", b"b"], 1)


def test_every_writer_has_its_own_recording(archive, appender):
    appender.append(0, [column(b"a")])
    BatchAppender(archive, "query-2", PARAMS).append(0, [column(b"b")])

    assert (payloads(archive, 0), payloads(archive, 1)) == ([b"a"], [b"b"])
    assert archive.recording(1).descriptor.channel == "spark:test"


def test_messages_keep_their_reserved_values(archive, appender):
    appender.append(0, [column(b"a", b"b", b"c", reserved_values=[7, 7, -1])])

    assert rows(archive) == [(b"a", 7), (b"b", 7), (b"c", -1)]


def test_messages_fill_terms_and_segments_and_may_be_long(archive, appender):
    messages = [bytes([index % 256]) * (index * 37 % 7000) for index in range(300)]

    appender.append(0, [column(*messages[:150])])
    appender.append(1, [column(*messages[150:])])

    assert payloads(archive) == messages
    assert len(archive.recording(0).segments()) > 2


def test_a_message_that_is_too_long_leaves_no_data(archive, appender):
    appender.append(0, [column(b"a")])

    with pytest.raises(
        ConfigurationError, match="message of 9000 bytes: must be at most 8192 with terms of 65536"
    ):
        appender.append(1, [column(b"b", bytes(9000))])
    appender.append(1, [column(b"c")])

    assert payloads(archive) == [b"a", b"c"]


class DeathError(BaseException):
    """A crash of the process."""


@pytest.mark.parametrize("where", ["append", "flush", "update_descriptor"])
def test_a_batch_whose_process_died_is_not_committed_and_can_be_appended_once(
    archive, appender, monkeypatch, where
):
    appender.append(0, [column(b"a" * 100)])
    many = [column(*[bytes([index]) * 1000 for index in range(200)])]

    def die(*args, **kwargs):
        raise DeathError

    with monkeypatch.context() as patch:
        if where == "update_descriptor":
            patch.setattr("aeron_core.recording.writing.batch_appender.update_descriptor", die)
        elif where == "flush":
            patch.setattr(recording_writer.RecordingWriter, "flush", die)
        else:
            append, calls = recording_writer.RecordingWriter.append, []

            def append_twice(self, block, now_ns):
                calls.append(block)
                if len(calls) > 2:
                    die()
                append(self, block, now_ns)

            patch.setattr(recording_writer.RecordingWriter, "append", append_twice)
        with pytest.raises(DeathError):
            appender.append(1, many)
    assert payloads(archive) == [b"a" * 100]

    BatchAppender(Archive.open(archive.uri), "query-1", PARAMS).append(1, many)

    assert payloads(archive) == [b"a" * 100, *[bytes([index]) * 1000 for index in range(200)]]


def test_a_full_disk_rejects_the_batch_and_keeps_earlier_ones(archive, appender, monkeypatch):
    appender.append(0, [column(b"a")])

    def fail(fd, data, offset):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fail)
        with pytest.raises(RecordingError, match="No space left on device"):
            appender.append(1, [column(b"b")])
    appender.append(1, [column(b"b")])

    assert payloads(archive) == [b"a", b"b"]


def test_the_flush_of_a_long_batch_begins_while_it_is_written(archive, appender, monkeypatch):
    begun = []
    monkeypatch.setattr(recording_writer, "_BEGUN_LENGTH", 10_000)
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *arguments: begun.append(arguments))

    appender.append(0, [column(*[bytes(1000)] * 300)])

    ends = [offset + length for offset, length, _ in begun]
    assert len(begun) > 2
    assert {kind for *_, kind in begun} == {os.POSIX_FADV_DONTNEED}
    assert all(
        offset in {0, end} for (offset, *_), end in zip(begun[1:], ends, strict=False)
    )  # 0: of the next segment
    assert payloads(archive) == [bytes(1000)] * 300


def test_an_empty_batch_is_committed(archive, appender):
    assert appender.append(0, []).last_batch_id == 0
    assert payloads(archive) == []
