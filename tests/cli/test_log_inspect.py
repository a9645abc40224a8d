"""The command `log-inspect`."""

import json
import os

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.cli.tools.log_inspect import _checked, frames_of
from aeron_core.concurrent.mapped_file import ObservedFile, create_mapped_file
from aeron_core.errors import StorageError
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.metadata import LogBufferParams


@pytest.fixture
def log(tmp_path):
    """A log buffer with two messages in its first term."""
    params = LogBufferParams(
        initial_term_id=-5, term_length=65536, mtu_length=1408, session_id=7, stream_id=1001
    )
    path = tmp_path / "3.logbuffer"
    log = LogBuffer.initialize(create_mapped_file(path, params.log_length, sparse=True), params)
    limit = AtomicBuffer(bytearray((1 << 20).to_bytes(8, "little")))
    appender = ExclusiveAppender(log, 7, 1001, limit)
    assert appender.offer(AtomicBuffer(b"first"), 0, 5, 11) == 64
    assert appender.offer(AtomicBuffer(b"second"), 0, 6, 12) == 128
    return path, log


def test_frames_are_shown_with_their_headers_and_payloads(aeron, log):
    path, _ = log

    out = aeron("log-inspect", path, "--dump", 32, "--format", "ascii").out

    assert "term length: 65536" in out
    assert (
        "0: DATA length=37 version=0 flags=BE-- term offset=0 session=7 stream=1001 term id=-5 reserved=11"
        in out
    )
    assert "second" in out
    assert "term 0: id -5, tail 128, position 128" in out


def test_an_unused_term_has_no_position(aeron, log):
    path, _ = log

    lines = aeron("log-inspect", path).out.splitlines()

    assert lines[-2:] == ["======== term 1: not in use yet", "======== term 2: not in use yet"]


def test_the_terms_of_an_image_have_no_tails(aeron, tmp_path):
    path = tmp_path / "4.logbuffer"
    params = LogBufferParams(
        initial_term_id=-5,
        term_length=65536,
        mtu_length=1408,
        session_id=7,
        stream_id=1001,
        log_type=wire.LOG_TYPE_IMAGE,
    )
    LogBuffer.initialize(create_mapped_file(path, params.log_length, sparse=True), params)

    lines = aeron("log-inspect", path, "--term", 1).out.splitlines()

    assert lines[-2:] == ["======== term 1", "         0: zeros: use --gaps to look further"]


def test_a_payload_is_shown_in_hex_up_to_the_requested_length(aeron, log):
    path, _ = log

    assert "66 69 72\n" in aeron("log-inspect", path, "--dump", 3).out


def test_frames_are_shown_as_json(aeron, log):
    path, _ = log

    document = json.loads(aeron("log-inspect", path, "--json", "--dump", 100, "--limit", 1).out)

    (frame,) = document["frames"]
    assert bytes.fromhex(frame["payload"]) == b"first"
    assert (frame["term"], frame["offset"], frame["length"], frame["type"]) == (0, 0, 37, "DATA")
    assert document["log_type"] == "concurrent publication"
    assert document["end_of_stream_position"] is None


def test_frames_behind_a_gap_are_shown_on_request(aeron, log):
    path, written = log
    written.buffer.put_i32(0, 0)

    out = aeron("log-inspect", path, "--term", 0).out
    assert "DATA" not in out
    assert out.endswith("         0: zeros: use --gaps to look further\n")
    assert "64: DATA length=38" in aeron("log-inspect", path, "--gaps").out


@pytest.mark.parametrize("length", [1, -1, 2**31 - 1, -(2**31)])
def test_an_impossible_frame_length_is_not_followed(aeron, log, length):
    path, written = log
    written.buffer.put_i32(64, length)

    outcome = aeron("log-inspect", path, "--dump", 1 << 20, "--term", 0)

    assert outcome.code == 0
    assert f"length={length} " in outcome.out


def test_a_file_that_is_no_log_is_refused_in_one_line(aeron, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"not a log" * 1000)

    outcome = aeron("log-inspect", path)

    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_a_log_that_is_truncated_meanwhile_is_an_error(log):
    path, buffer = log
    file = ObservedFile(path)

    found = _checked(file, frames_of(buffer, 0, 0, skip_gaps=False))
    next(found)
    os.truncate(path, 4096)

    with pytest.raises(StorageError, match=r"3\.logbuffer was truncated from \d+ to 4096 bytes"):
        next(found)
