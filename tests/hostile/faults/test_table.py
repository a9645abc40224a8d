"""The fault program compares the table of a query with the recordings that it has copied."""

from __future__ import annotations

import zlib

import pytest
from laboratory.table import Table

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.testing.recordings import RecordingUnderTest


@pytest.fixture
def archive(tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive")
    written.append(b"first", b"second", b"third")
    return written.store.folder


@pytest.fixture
def rows(archive):
    """Return the lines that a query writes of a table that has each message once."""
    (recording,) = Archive.open(archive).recordings()
    return [
        f"{recording.recording_id} {message.position} {zlib.crc32(message.payload)}\n"
        for message in messages(recording, recording.start_position, recording.position)
    ]


@pytest.fixture
def check(tmp_path, archive):
    """Check a table with rows; return the number of rows and the violations."""

    def check(rows):
        table, found = Table(tmp_path), []
        table.content.write_text("".join(rows))
        return table.check("it", archive, found.append), found

    return check


def test_a_table_with_each_message_once_is_no_violation(check, rows):
    assert check(rows[::-1]) == (3, [])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda rows: rows[1:], "1 rows are missing"),
        (lambda rows: rows + rows[:2], "2 rows are there too often"),
        (lambda rows: [*rows, "0 4096 1\n"], "1 rows are there too often, or were not recorded"),
    ],
)
def test_a_table_without_a_message_or_with_more_is_a_violation(check, rows, change, text):
    _, (violation,) = check(change(rows))

    assert violation.startswith(f"table of it: {text}")


def test_a_query_that_has_not_finished_is_a_violation(tmp_path, archive):
    found = []

    assert Table(tmp_path).check("it", archive, found.append) == 0

    assert found == ["table of it: the query has not written its content"]
