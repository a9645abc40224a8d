"""Messages of frames as columns."""

from itertools import pairwise

import numpy as np
import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.recording.reading.message_columns import MessageColumns
from aeron_core.recording.reading.message_scanner import MessageScanner
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.testing.recordings import (
    INITIAL_TERM_ID,
    SESSION_ID,
    STREAM_ID,
    TERM_LENGTH,
    frame_at,
    frames_at,
    padding_at,
)

BEGIN, MIDDLE, END, WHOLE = 0x80, 0x00, 0x40, 0xC0


def make_scanner(*, is_assembling=True):
    frames = FrameScanner(SESSION_ID, STREAM_ID, INITIAL_TERM_ID, TERM_LENGTH)
    return MessageScanner(frames, is_assembling=is_assembling)


def scan(data, position=0, *, is_assembling=True, capacity=100, payload_capacity=10_000):
    columns = MessageColumns(capacity, payload_capacity)
    scanner = make_scanner(is_assembling=is_assembling)
    scanned = scanner.scan(AtomicBuffer(data), 0, len(data), position, columns)
    return scanned, columns, scanner


def payloads(columns):
    boundaries = np.frombuffer(columns.boundaries, np.int32, columns.count + 1).tolist()
    data = bytes(memoryview(columns.payload))
    return [data[begin:end] for begin, end in pairwise(boundaries)]


def positions(columns):
    return np.frombuffer(columns.positions, np.int64, columns.count).tolist()


def test_messages_have_the_position_behind_them():
    scanned, columns, _ = scan(frames_at(64, [b"a", b"", b"ccc"]), 64)

    assert (payloads(columns), positions(columns)) == ([b"a", b"", b"ccc"], [128, 160, 224])
    assert scanned == 160


def test_cleared_columns_are_empty():
    _, columns, scanner = scan(frame_at(0, b"abc", flags=0xD0))

    columns.clear()
    scanner.scan(AtomicBuffer(frame_at(64, b"d")), 0, 64, 64, columns)

    assert (payloads(columns), positions(columns)) == ([b"d"], [128])
    assert np.frombuffer(columns.flags, np.int32, 1).tolist() == [0xC0]


def test_reserved_values_and_flags_are_those_of_the_frames():
    data = frame_at(0, b"a", reserved_value=-5) + frame_at(64, b"b", flags=0xD0, reserved_value=2**63 - 1)

    _, columns, _ = scan(data)

    assert np.frombuffer(columns.reserved_values, np.int64, 2).tolist() == [-5, 2**63 - 1]
    assert np.frombuffer(columns.flags, np.int32, 2).tolist() == [0xC0, 0xD0]


def fragments(position=0):
    return (
        frame_at(position, b"ab", flags=BEGIN, reserved_value=7)
        + frame_at(position + 64, b"cd", flags=MIDDLE)
        + frame_at(position + 128, b"e", flags=END)
    )


def test_fragments_are_reassembled():
    scanned, columns, _ = scan(fragments() + frame_at(192, b"f"))

    assert (payloads(columns), positions(columns), scanned) == ([b"abcde", b"f"], [192, 256], 256)
    assert np.frombuffer(columns.reserved_values, np.int64, 1).tolist() == [7]
    assert np.frombuffer(columns.flags, np.int32, 1).tolist() == [WHOLE]


def test_fragments_are_kept_unless_assembling():
    _, columns, _ = scan(fragments(), is_assembling=False)

    assert payloads(columns) == [b"ab", b"cd", b"e"]
    assert np.frombuffer(columns.flags, np.int32, 3).tolist() == [BEGIN, MIDDLE, END]


def test_an_incomplete_message_is_left_for_the_next_scan():
    scanned, columns, scanner = scan(frame_at(0, b"a") + fragments(64)[:128])

    assert (payloads(columns), scanned, scanner.frames.fault) == ([b"a"], 64, 0)


@pytest.mark.parametrize("cut", [1, 31, 33, 63])
def test_an_incomplete_frame_is_left_for_the_next_scan(cut):
    scanned, columns, scanner = scan(frame_at(0, b"a") + frame_at(64, b"b" * 30)[:cut])

    assert (payloads(columns), scanned, scanner.frames.fault_text()[:9]) == ([b"a"], 64, "a frame t")


def test_fragments_without_a_beginning_or_an_end_are_dropped():
    data = (
        frame_at(0, b"x", flags=MIDDLE)
        + frame_at(64, b"x", flags=END)
        + frame_at(128, b"x", flags=BEGIN)
        + padding_at(192, 64)
        + frame_at(256, b"x", flags=BEGIN)
        + frame_at(320, b"whole")
    )

    scanned, columns, scanner = scan(data)

    assert (payloads(columns), scanned, scanner.dropped) == ([b"whole"], len(data), 4)


def test_full_columns_end_the_scan():
    data = frames_at(0, [b"a", b"b", b"c"])

    scanned, columns, scanner = scan(data, capacity=2)

    assert (payloads(columns), scanned, scanner.required_length) == ([b"a", b"b"], 128, 1)


def test_an_empty_message_that_does_not_fit_is_distinguished_from_no_message():
    _, _, scanner = scan(frames_at(0, [b"a", b""]), capacity=1)
    assert scanner.required_length == 0

    _, _, scanner = scan(frames_at(0, [b"a", b""]))
    assert scanner.required_length == -1


def test_a_message_that_does_not_fit_sets_the_required_length():
    scanned, _, scanner = scan(frame_at(0, bytes(20)), payload_capacity=19)
    assert (scanned, scanner.required_length) == (0, 20)

    scanned, _, scanner = scan(fragments(), payload_capacity=4)
    assert (scanned, scanner.required_length) == (0, 5)


def test_a_frame_of_another_stream_ends_the_scan_with_a_fault():
    scanned, columns, scanner = scan(frame_at(0, b"a") + frame_at(64, b"b", session_id=99))

    assert (payloads(columns), scanned) == ([b"a"], 64)
    assert scanner.frames.fault != 0
    assert scanner.frames.fault_text() == f"session id=99: must be that of the recording, {SESSION_ID}"


def test_padding_without_its_body_is_skipped():
    scanned, _, _ = scan(frame_at(0, b"a") + padding_at(64, TERM_LENGTH - 64)[:32])

    assert scanned == TERM_LENGTH


@pytest.mark.parametrize(("capacity", "payload_capacity"), [(0, 1), (1, 0), (2**31, 1), (1, 2**31)])
def test_columns_of_an_invalid_size_raise(capacity, payload_capacity):
    with pytest.raises(ValueError, match="must be from 1 to"):
        MessageColumns(capacity, payload_capacity)


def test_random_bytes_never_cause_reads_outside_of_the_buffer():
    random = np.random.default_rng(11)
    for _ in range(300):
        data = bytearray(frames_at(0, [bytes(int(n)) for n in random.integers(0, 300, 20)]) + fragments(0))
        for at in random.integers(0, len(data), 6):
            data[at] = int(random.integers(0, 256))

        scanned, columns, _ = scan(bytes(data), is_assembling=bool(random.integers(0, 2)))

        assert 0 <= scanned <= TERM_LENGTH
        assert len(payloads(columns)) == columns.count
