import pytest

from aeron_core._native import wire
from aeron_core.logbuffer.unblocker import first_gap, unblock, unblock_for_good


def move_tail(log, index, term_id, offset):
    log.buffer.put_i64(log.metadata_offset + index * 8, (term_id << 32) + offset)


def is_padding(log, offset, length):
    return (
        log.buffer.get_i32(offset) == length
        and log.buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
    )


def test_unblock_does_nothing_without_a_claim(make_log):
    assert not unblock(make_log(), 0)


def test_unblock_does_nothing_for_a_complete_frame(make_log, put_frame):
    log = make_log()
    move_tail(log, 0, 7, put_frame(log, 0, b"complete"))

    assert not unblock(log, 0)


def test_a_begun_frame_becomes_padding_over_its_claim(make_log):
    log = make_log()
    log.buffer.put_i32(64, -128)
    move_tail(log, 0, 7, 192)

    assert unblock(log, 64)

    assert is_padding(log, 64, 128)
    assert log.buffer.get_i32(64 + wire.DATA_TERM_OFFSET_OFFSET) == 64
    assert log.buffer.get_i32(64 + wire.DATA_TERM_ID_OFFSET) == 7


@pytest.mark.parametrize("length", [64, -64])
def test_a_claim_without_a_frame_becomes_padding_up_to_the_next_frame(make_log, length):
    log = make_log()
    log.buffer.put_i32(320, length)
    move_tail(log, 0, 7, 384)

    assert unblock(log, 64)

    assert is_padding(log, 64, 256)


def test_a_claim_at_the_tail_is_not_padded_until_a_frame_follows(make_log):
    log = make_log()
    move_tail(log, 0, 7, 384)

    assert not unblock(log, 64)


def test_a_claim_past_the_end_becomes_padding_to_the_end_and_rotates_the_log(make_log):
    log = make_log()
    move_tail(log, 0, 7, 65536 + 64)

    assert unblock(log, 65536 - 256)

    assert is_padding(log, 65536 - 256, 256)
    assert log.active_term_count_acquire() == 1
    assert log.producer_position() == 65536


def test_a_log_that_was_not_rotated_is_rotated(make_log, put_frame):
    log = make_log()
    move_tail(log, 0, 7, 65536 + 64)
    put_frame(log, 65536 - 64, length=64, type=wire.TYPE_PAD)

    assert unblock(log, 65536)

    assert log.active_term_count_acquire() == 1


@pytest.mark.parametrize("mark", [-(2**31), -(2**31) + 1, -65600])
def test_a_corrupt_mark_does_not_pad_past_the_term(make_log, mark):
    log = make_log()
    log.buffer.put_i32(64, mark)
    move_tail(log, 0, 7, 192)

    assert unblock(log, 64)

    assert is_padding(log, 64, 65536 - 64)


def test_term_ids_of_padding_wrap(make_log):
    log = make_log(initial_term_id=2**31 - 1)
    log.rotate(0, 2**31 - 1)
    log.buffer.put_i32(65536, -64)
    move_tail(log, 1, -(2**31), 64)

    assert unblock(log, 65536)

    assert log.buffer.get_i32(65536 + wire.DATA_TERM_ID_OFFSET) == -(2**31)


def test_the_first_gap_is_after_all_complete_frames(make_log, put_frame):
    log = make_log()
    end = put_frame(log, 0, b"complete")
    log.buffer.put_i32(end, -128)

    assert first_gap(log, 0, end + 128) == end
    assert first_gap(log, 0, end) == end


def test_the_claims_of_a_last_publisher_are_padded_to_the_tail(make_log, put_frame):
    log = make_log()
    end = put_frame(log, 0, b"complete")
    move_tail(log, 0, 7, end + 192)

    assert not unblock(log, end)
    assert unblock_for_good(log, end)

    assert is_padding(log, end, 192)
    assert not unblock_for_good(log, end)
