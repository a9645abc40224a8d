"""Validation of frames of a recording."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
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

BEGIN, MIDDLE, END = 0x80, 0x00, 0x40


def scan(data, position=0):
    scanner = FrameScanner(SESSION_ID, STREAM_ID, INITIAL_TERM_ID, TERM_LENGTH)
    return scanner.scan(AtomicBuffer(data), 0, len(data), position), scanner


def test_whole_frames_are_scanned_and_counted():
    data = frames_at(64, [b"a", b"bb" * 40, b""])

    scanned, scanner = scan(data, 64)

    assert (scanned, scanner.frame_count, scanner.fault, scanner.padding_offset) == (len(data), 3, 0, -1)


def test_the_border_is_behind_the_last_complete_message():
    data = frame_at(0, b"a") + frame_at(64, b"b", flags=BEGIN) + frame_at(128, b"c", flags=MIDDLE)

    assert scan(data)[1].border_length == 64
    assert scan(data + frame_at(192, b"d", flags=END))[1].border_length == 256


def test_padding_needs_only_its_header():
    data = frame_at(0, b"a") + padding_at(64, TERM_LENGTH - 64)[:32]

    scanned, scanner = scan(data)

    assert (scanned, scanner.padding_offset, scanner.border_length) == (TERM_LENGTH, 64, TERM_LENGTH)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (bytes(32), "no frame"),
        (frame_at(64, bytes(100))[:96], "a frame that is cut short, of length 132"),
        (frame_at(64)[:8], "a frame that is cut short, of length 8"),
        (frame_at(64, frame_length=31), "frame length=31: must be at least 32 bytes and within the term"),
        (frame_at(64, frame_length=-1), "frame length=-1: must"),
        (frame_at(64, frame_length=TERM_LENGTH), f"frame length={TERM_LENGTH}: must"),
        (frame_at(64, frame_length=2**31 - 1), "frame length=2147483647: must"),
        (frame_at(64, frame_type=3), "frame type=3: must be data or padding"),
        (frame_at(64, term_id=8), "term id=8: must be that of the position"),
        (frame_at(64, term_offset=32), "term offset=32: must be that of the position"),
        (frame_at(64, session_id=12), "session id=12: must be that of the recording"),
        (frame_at(64, stream_id=-1), "stream id=-1: must be that of the recording"),
    ],
)
def test_a_scan_stops_at_an_invalid_frame_with_the_reason(second, message):
    scanned, scanner = scan(frame_at(0, b"a") + second)

    assert scanned == 64
    assert scanner.fault_text().startswith(message)


def test_a_scan_outside_of_the_buffer_raises():
    scanner = FrameScanner(SESSION_ID, STREAM_ID, INITIAL_TERM_ID, TERM_LENGTH)

    with pytest.raises(IndexError):
        scanner.scan(AtomicBuffer(bytes(64)), 32, 64, 0)


def test_frames_get_the_ids_of_another_stream():
    data = AtomicBuffer(bytearray(frames_at(64, [b"a", b"bb" * 40, b""])))
    scanner = FrameScanner(SESSION_ID, STREAM_ID, INITIAL_TERM_ID, TERM_LENGTH)
    assert scanner.scan(data, 0, data.capacity, 64) == data.capacity

    assert scanner.restamp(data, 0, data.capacity, -5, 900) == 3

    stamped = FrameScanner(-5, 900, INITIAL_TERM_ID, TERM_LENGTH)
    assert stamped.scan(data, 0, data.capacity, 64) == data.capacity
    with pytest.raises(IndexError):
        scanner.restamp(data, 0, data.capacity + 32, 1, 2)
