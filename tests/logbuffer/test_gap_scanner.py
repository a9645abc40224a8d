import pytest

from aeron_core._native import positions
from aeron_core.logbuffer.gap_scanner import scan_for_gap


def scan(log, offset, limit, partition=0):
    pair = scan_for_gap(log.buffer, partition * log.term_length, offset, limit)
    return positions.high_of_pair(pair), positions.low_of_pair(pair)


def test_term_without_loss_has_no_gap(make_log, put_frame):
    log = make_log()
    put_frame(log, put_frame(log, 0, bytes(100)), bytes(100))

    assert scan(log, 0, 320) == (320, 0)


def test_a_gap_extends_from_the_last_contiguous_frame_to_the_next_received_one(make_log, put_frame):
    log = make_log()
    put_frame(log, 0, b"first")
    put_frame(log, 320, b"fourth")

    assert scan(log, 0, 384) == (64, 256)


def test_gap_at_the_front_is_found(make_log, put_frame):
    log = make_log()
    put_frame(log, 64, b"second")

    assert scan(log, 0, 128) == (0, 64)


def test_only_the_first_gap_is_reported(make_log, put_frame):
    log = make_log()
    put_frame(log, 64, b"second")
    put_frame(log, 192, b"fourth")

    assert scan(log, 0, 256) == (0, 64)
    assert scan(log, 64, 256) == (128, 64)


def test_gap_up_to_the_limit_is_reported_up_to_the_limit(make_log, put_frame):
    log = make_log()
    put_frame(log, 0, b"first")

    assert scan(log, 0, 65536) == (64, 65536 - 64)


def test_gap_before_a_frame_that_is_being_written_ends_there(make_log, put_frame):
    log = make_log()
    log.buffer.put_i32(128, -64)

    assert scan(log, 0, 256) == (0, 128)


def test_offsets_are_those_of_the_term_in_every_partition(make_log, put_frame):
    log = make_log()
    put_frame(log, 2 * 65536, b"first")
    put_frame(log, 2 * 65536 + 128, b"third")

    assert scan(log, 0, 192, partition=2) == (64, 64)


def test_nothing_is_missing_in_an_empty_range(make_log):
    assert scan(make_log(), 65536, 65536) == (65536, 0)


@pytest.mark.parametrize("length", [4096, 2**31 - 1])
def test_a_corrupt_length_does_not_cause_a_scan_past_the_limit(make_log, put_frame, length):
    log = make_log()
    log.buffer.put_i32(0, length)

    assert scan(log, 0, 128) == (128, 0)
