from aeron_core._native import wire
from aeron_core.logbuffer.gap_filler import try_fill_gap


def test_gap_becomes_one_frame_of_padding_made_from_the_default_header(make_log, put_frame):
    log = make_log(initial_term_id=7)
    put_frame(log, 65536 + 192, b"behind the gap")

    assert try_fill_gap(log, 8, 64, 128)

    frame = 65536 + 64
    assert log.buffer.get_i32(frame) == 128
    assert log.buffer.get_u8(frame + wire.FRAME_FLAGS_OFFSET) == wire.DATA_FLAGS_UNFRAGMENTED
    assert log.buffer.get_u16(frame + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
    assert log.buffer.get_i32(frame + wire.DATA_TERM_OFFSET_OFFSET) == 64
    assert log.buffer.get_i32(frame + wire.DATA_SESSION_ID_OFFSET) == 11
    assert log.buffer.get_i32(frame + wire.DATA_STREAM_ID_OFFSET) == 22
    assert log.buffer.get_i32(frame + wire.DATA_TERM_ID_OFFSET) == 8
    assert log.buffer.get_i64(frame + wire.DATA_RESERVED_VALUE_OFFSET) == 0


def test_a_gap_in_which_a_frame_arrived_is_not_filled(make_log, put_frame):
    log = make_log(initial_term_id=7)
    put_frame(log, 128, b"arrived")

    assert not try_fill_gap(log, 7, 64, 128)

    assert log.buffer.get_i32(64) == 0


def test_gap_at_the_end_of_the_term_is_filled_to_the_end(make_log):
    log = make_log(initial_term_id=7)

    assert try_fill_gap(log, 9, 65536 - 32, 32)

    assert log.buffer.get_i32(3 * 65536 - 32) == 32
