"""Commands whose standard input or output was closed when they started, as by a service manager or `>&-`."""

import subprocess
import sys

import pytest

from aeron_core.testing.recordings import RecordingUnderTest


@pytest.fixture
def archive(tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive")
    written.append(b"a")
    written.stop()
    return tmp_path / "archive"


def error_of(outcome):
    assert outcome.code == 1
    assert outcome.err.startswith("aeron-core: error: ")
    assert outcome.err.count("\n") == 1
    return outcome.err


def test_publishing_a_closed_standard_input_fails_in_one_line(aeron, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)

    outcome = aeron("pub", "aeron:ipc", "1")

    assert "the standard input is closed: redirect it, or name a file with --input" in error_of(outcome)


def test_writing_messages_to_a_closed_standard_output_fails_in_one_line(aeron, monkeypatch, archive):
    monkeypatch.setattr(sys, "stdout", None)

    for command in (["sub", "aeron:ipc", "1"], ["recordings", "export", archive, "0"]):
        outcome = aeron(*command)
        assert "the standard output is closed: redirect it, or name a file with --output" in error_of(outcome)


def test_messages_are_exported_to_a_file_without_standard_output(aeron, monkeypatch, archive, tmp_path):
    monkeypatch.setattr(sys, "stdout", None)

    outcome = aeron("recordings", "export", archive, "0", "--output", tmp_path / "out", "--json")

    assert (outcome.code, outcome.err, (tmp_path / "out").read_bytes()) == (0, "", b"a\n")


def test_a_summary_is_not_mixed_with_the_messages_if_standard_error_is_closed(aeron, monkeypatch, archive):
    monkeypatch.setattr(sys, "stderr", None)

    outcome = aeron("recordings", "export", archive, "0", "--json")

    assert (outcome.code, outcome.out) == (0, "a\n")


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_a_report_to_a_closed_standard_output_is_dropped(aeron, monkeypatch, dead_directory, json):
    monkeypatch.setattr(sys, "stdout", None)

    outcome = aeron("loss", "-d", dead_directory, *json)

    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.system
@pytest.mark.parametrize(
    ("closing", "arguments"),
    [("<&-", ["pub", "aeron:ipc", "1"]), (">&-", ["sub", "aeron:ipc", "1"])],
)
def test_a_process_with_a_closed_descriptor_fails_in_one_line(closing, arguments):
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "aeron_core", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("aeron-core: error: the standard ")
    assert done.stderr.count("\n") == 1
