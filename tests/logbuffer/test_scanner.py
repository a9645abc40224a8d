import pytest

from aeron_core._native import positions, wire
from aeron_core.logbuffer.scanner import scan_for_availability


def scan(log, offset=0, max_length=1408):
    pair = scan_for_availability(log.buffer, offset, log.term_length - offset, max_length)
    return positions.low_of_pair(pair), positions.high_of_pair(pair)


def test_nothing_is_available_in_an_empty_term(make_log):
    assert scan(make_log()) == (0, 0)


def test_whole_frames_are_available_up_to_the_first_that_is_not_complete(make_log, put_frame):
    log = make_log()
    end = put_frame(log, put_frame(log, 0, b"one"), b"two")
    log.buffer.put_i32(end, -64)

    assert scan(log) == (128, 0)


def test_frames_beyond_the_maximum_length_wait_for_the_next_scan(make_log, put_frame):
    log = make_log()
    put_frame(log, put_frame(log, 0, bytes(600)), bytes(800))

    assert scan(log, max_length=1408) == (640, 0)


def test_frames_that_fill_the_maximum_length_exactly_are_available(make_log, put_frame):
    log = make_log()
    put_frame(log, put_frame(log, 0, bytes(672)), bytes(672))

    assert scan(log, max_length=1408) == (1408, 0)


def test_a_first_frame_longer_than_the_maximum_length_is_returned_as_negative(make_log, put_frame):
    log = make_log()
    put_frame(log, 0, bytes(1376))

    assert scan(log, max_length=1024) == (-1408, 0)


def test_padding_ends_the_scan_and_only_its_header_counts(make_log, put_frame):
    log = make_log()
    end = put_frame(log, 0, b"data")
    put_frame(log, put_frame(log, end, length=4096, type=wire.TYPE_PAD), b"behind")

    assert scan(log) == (64 + 32, 4096 - 32)


def test_padding_whose_header_does_not_fit_waits_for_the_next_scan(make_log, put_frame):
    log = make_log()
    put_frame(log, put_frame(log, 0, bytes(1376)), length=4096, type=wire.TYPE_PAD)

    assert scan(log, max_length=1408) == (1408, 0)
    assert scan(log, offset=1408, max_length=16) == (-32, 0)


def test_scan_stops_at_the_end_of_the_term(make_log, put_frame):
    log = make_log()
    put_frame(log, 65536, b"next term")
    put_frame(log, 65536 - 64, b"last")

    assert scan(log, offset=65536 - 64) == (64, 0)


@pytest.mark.parametrize(("type_id", "found"), [(wire.TYPE_PAD, (32, 32)), (wire.TYPE_DATA, (64, 0))])
def test_a_corrupt_length_does_not_cause_a_scan_past_the_term(make_log, put_frame, type_id, found):
    log = make_log()
    put_frame(log, 65536 - 64, type=type_id)
    log.buffer.put_i32(65536 - 64, 2**31 - 1)

    assert scan(log, offset=65536 - 64) == found


def test_offset_outside_of_the_log_raises(make_log):
    with pytest.raises(IndexError):
        scan_for_availability(make_log().buffer, 200704, 64, 64)
