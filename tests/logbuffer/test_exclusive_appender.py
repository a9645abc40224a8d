import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer import results
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender

SOURCE = AtomicBuffer(bytes(range(256)) * 32)


def make_appender(log, limit=2**62):
    view = AtomicBuffer.allocate(8)
    view.put_i64(0, limit)
    return ExclusiveAppender(log, 11, 22, view)


@pytest.fixture
def block(make_log):
    """Return a log whose first 448 bytes are four complete frames."""
    recorded = make_appender(make_log())
    for length in (10, 100, 0, 33):
        recorded.offer(SOURCE, 0, length, length)
    recorded.append_padding(0)
    assert recorded.position() == 64 + 160 + 32 + 96 + 32
    return recorded.log


def test_an_appender_continues_at_the_tail_of_its_predecessor(make_log):
    log = make_log(term_offset=65536 - 64)
    first = make_appender(log)
    first.offer(SOURCE, 0, 100, 0)
    first.offer(SOURCE, 0, 100, 0)

    second = make_appender(log)

    assert second.position() == first.position() == 65536 + 160
    assert second.offer(SOURCE, 0, 0, 0) == 65536 + 192


def test_block_is_appended_byte_for_byte(make_log, block):
    appender = make_appender(make_log())

    assert appender.offer_block(block.buffer, 0, 384) == 384

    assert bytes(appender.log.buffer) == bytes(block.buffer)


def test_a_block_rotates_a_log_whose_term_is_full(make_log, block, put_frame):
    log = make_log(term_offset=65536)
    source = make_log()
    put_frame(source, 65536, b"next term")

    assert make_appender(log).offer_block(source.buffer, 65536, 64) == 65536 + 64

    assert log.active_term_count_acquire() == 1
    assert log.buffer.get_bytes(65536, 64) == source.buffer.get_bytes(65536, 64)


@pytest.mark.parametrize("length", [0, 16, 32, 96, 352, 416, 65536])
def test_block_that_does_not_end_with_a_frame_is_an_error(make_log, block, length):
    appender = make_appender(make_log())
    expected = 64 if length == 64 else results.ERROR
    if length == 352:  # without the padding at the end: still complete frames
        expected = 352

    assert appender.offer_block(block.buffer, 0, length) == expected


@pytest.mark.parametrize(
    "field",
    [
        wire.FRAME_LENGTH_OFFSET,
        wire.DATA_TERM_OFFSET_OFFSET,
        wire.DATA_SESSION_ID_OFFSET,
        wire.DATA_STREAM_ID_OFFSET,
        wire.DATA_TERM_ID_OFFSET,
    ],
)
@pytest.mark.parametrize("frame", [0, 64, 224])
@pytest.mark.parametrize("value", [-1, 2**31 - 1, 31])
def test_a_block_of_another_position_or_stream_is_an_error(make_log, block, field, frame, value):
    appender = make_appender(make_log())
    block.buffer.put_i32(frame + field, value)

    assert appender.offer_block(block.buffer, 0, 384) == results.ERROR

    assert appender.position() == 0
    assert appender.log.raw_tail_acquire(0) == 7 << 32


def test_block_must_begin_with_data(make_log, block):
    block.buffer.put_u16(wire.FRAME_TYPE_OFFSET, wire.TYPE_PAD)

    assert make_appender(make_log()).offer_block(block.buffer, 0, 384) == results.ERROR


def test_block_waits_for_the_limit(make_log, block):
    assert make_appender(make_log(), limit=0).offer_block(block.buffer, 0, 384) == results.BACK_PRESSURED


def test_block_outside_of_its_source_raises(make_log):
    with pytest.raises(IndexError):
        make_appender(make_log()).offer_block(SOURCE, 8192 - 32, 64)


def test_block_past_the_last_term_ends_the_stream(make_log, block):
    log = make_log(initial_term_id=0, term_id=2**31 - 1, term_offset=65536)

    result = make_appender(log, limit=2**63 - 1).offer_block(block.buffer, 0, 384)

    assert result == results.MAX_POSITION_EXCEEDED
