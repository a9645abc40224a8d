"""Behaviour of both appenders; `test_exclusive_appender.py` has that of the exclusive one alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer import results
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.unblocker import unblock

APPENDERS = [ConcurrentAppender, ExclusiveAppender]
LAST_TERM = 2**31 - 1
SOURCE = AtomicBuffer(bytes(range(256)) * 64)


@pytest.fixture(params=APPENDERS)
def make(request, make_log):
    def make_appender(limit=2**62, **changes):
        view = AtomicBuffer.allocate(8)
        view.put_i64(0, limit)
        return request.param(make_log(**changes), 11, 22, view), view

    return make_appender


def test_message_is_one_frame_with_the_header_of_the_stream(make):
    appender, _ = make(initial_term_id=7, term_id=9, term_offset=64)

    assert appender.offer(SOURCE, 5, 100, -9) == 2 * 65536 + 64 + 160

    frame = appender.log.frame_offset(2 * 65536 + 64)
    buffer = appender.log.buffer
    assert buffer.get_i32(frame) == 132
    assert buffer.get_u8(frame + wire.FRAME_FLAGS_OFFSET) == wire.DATA_FLAGS_UNFRAGMENTED
    assert buffer.get_u16(frame + wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA
    assert buffer.get_i32(frame + wire.DATA_TERM_OFFSET_OFFSET) == 64
    assert buffer.get_i32(frame + wire.DATA_SESSION_ID_OFFSET) == 11
    assert buffer.get_i32(frame + wire.DATA_STREAM_ID_OFFSET) == 22
    assert buffer.get_i32(frame + wire.DATA_TERM_ID_OFFSET) == 9
    assert buffer.get_i64(frame + wire.DATA_RESERVED_VALUE_OFFSET) == -9
    assert buffer.get_bytes(frame + 32, 100) == SOURCE.get_bytes(5, 100)
    assert appender.position() == appender.log.producer_position() == 2 * 65536 + 64 + 160


def test_empty_message_is_a_header(make, read_frames):
    appender, _ = make()

    assert appender.offer(SOURCE, 0, 0, 0) == 32

    assert [frame.length for frame in read_frames(appender.log)] == [32]


@pytest.mark.parametrize("length", [1377, 2752, 2753, 8192])
def test_long_message_becomes_fragments_that_begin_and_end_it(make, read_frames, length):
    appender, _ = make()

    position = appender.offer(SOURCE, 3, length, 5)

    frames = read_frames(appender.log)
    assert b"".join(frame.payload for frame in frames) == SOURCE.get_bytes(3, length)
    assert [frame.flags for frame in frames] == [0x80] + [0] * (len(frames) - 2) + [0x40]
    assert {frame.reserved_value for frame in frames} == {5}
    assert {len(frame.payload) for frame in frames[:-1]} == {1376}
    assert position == sum(frame.aligned_length for frame in frames)


@given(sizes=st.lists(st.integers(0, 3000), max_size=6))
@pytest.mark.parametrize("kind", APPENDERS)
def test_parts_are_gathered_into_the_frames_of_one_message(make_log, kind, sizes):
    sizes = sizes if sum(sizes) <= 8192 else [8192]
    limit = AtomicBuffer(bytearray(b"\xff" * 7 + b"\x7f"))
    parts = [SOURCE.view(number * 100, size) for number, size in enumerate(sizes)]
    whole = AtomicBuffer(b"".join(bytes(part) for part in parts))
    gathered, offered = (kind(make_log(), 11, 22, limit) for _ in range(2))

    position = gathered.offer_parts(parts, 3)

    assert position == offered.offer(whole, 0, len(whole), 3)
    assert bytes(gathered.log.buffer) == bytes(offered.log.buffer)


def test_parts_of_another_type_are_rejected_before_anything_is_claimed(make):
    appender, _ = make()

    with pytest.raises(TypeError, match="part of type bytes"):
        appender.offer_parts([SOURCE, b"bytes"], 0)

    assert appender.position() == 0


def test_message_longer_than_allowed_is_an_error(make):
    appender, _ = make()
    long = AtomicBuffer.allocate(8193)

    assert appender.offer(long, 0, 8193, 0) == results.ERROR
    assert appender.offer_parts([long], 0) == results.ERROR
    assert appender.append_padding(8193) == results.ERROR
    assert appender.claim(BufferClaim(), 1377) == results.ERROR
    assert appender.claim(BufferClaim(), -1) == results.ERROR
    assert appender.append_padding(-1) == results.ERROR
    assert appender.position() == 0


@pytest.mark.parametrize(("offset", "length"), [(-1, 5), (0, -1), (16384, 1), (2**62, 2**30)])
def test_message_outside_of_its_source_raises_before_anything_is_claimed(make, offset, length):
    appender, _ = make()

    with pytest.raises(IndexError):
        appender.offer(SOURCE, offset, length, 0)

    assert appender.position() == 0


def test_padding_is_one_frame_of_the_requested_length(make, read_frames):
    appender, _ = make()

    assert appender.append_padding(50) == 96

    (frame,) = read_frames(appender.log)
    assert (frame.type, frame.length, frame.flags) == (wire.TYPE_PAD, 82, 0xC0)


def test_a_message_may_start_below_the_limit_but_not_at_it(make):
    appender, limit = make(limit=64)

    assert appender.offer(SOURCE, 0, 100, 0) == 160
    assert appender.offer(SOURCE, 0, 0, 0) == results.BACK_PRESSURED
    assert appender.offer_parts([], 0) == results.BACK_PRESSURED
    assert appender.position_limit() == 64

    limit.put_i64(0, 161)
    assert appender.offer(SOURCE, 0, 0, 0) == 192


def test_not_connected_is_distinguished_from_back_pressure(make):
    appender, _ = make(limit=0)
    appender.log.set_is_connected(False)

    assert appender.offer(SOURCE, 0, 1, 0) == results.NOT_CONNECTED
    assert appender.offer_parts([SOURCE.view(0, 1)], 0) == results.NOT_CONNECTED
    assert appender.claim(BufferClaim(), 1) == results.NOT_CONNECTED
    assert appender.append_padding(1) == results.NOT_CONNECTED


def test_a_term_that_is_too_full_is_padded_and_the_log_is_rotated(make, read_frames):
    appender, _ = make(initial_term_id=7, term_offset=65536 - 96)

    assert appender.offer(SOURCE, 0, 100, 0) == results.ADMIN_ACTION

    (padding,) = read_frames(appender.log, 65536 - 96)
    assert (padding.type, padding.length) == (wire.TYPE_PAD, 96)
    assert appender.log.active_term_count_acquire() == 1
    assert appender.log.raw_tail_acquire(0) == (7 << 32) + 65536 + 64
    assert appender.offer(SOURCE, 0, 100, 0) == 65536 + 160


def test_message_that_fills_the_term_exactly_needs_no_padding(make):
    appender, _ = make(term_offset=65536 - 64)

    assert appender.offer(SOURCE, 0, 32, 0) == 65536
    assert appender.offer(SOURCE, 0, 32, 0) == results.ADMIN_ACTION
    assert appender.offer(SOURCE, 0, 32, 0) == 65536 + 64


def test_term_ids_wrap(make):
    appender, _ = make(initial_term_id=2**31 - 1, term_offset=65536 - 32)
    appender.offer(SOURCE, 0, 100, 0)

    assert appender.offer(SOURCE, 0, 32, 0) == 65536 + 64

    assert appender.log.buffer.get_i32(65536 + wire.DATA_TERM_ID_OFFSET) == -(2**31)


def test_last_term_ends_the_stream(make, read_frames):
    appender, _ = make(limit=2**63 - 1, initial_term_id=0, term_id=LAST_TERM, term_offset=65536 - 96)
    last = LAST_TERM * 65536 + 65536 - 96

    assert appender.offer(SOURCE, 0, 100, 0) == results.MAX_POSITION_EXCEEDED

    tails = [appender.log.raw_tail_acquire(index) for index in range(3)]
    assert [appender.offer(SOURCE, 0, 1, 0) for _ in range(5)] == [results.MAX_POSITION_EXCEEDED] * 5
    assert tails == [appender.log.raw_tail_acquire(index) for index in range(3)]
    assert [frame.type for frame in read_frames(appender.log, last)] == [wire.TYPE_PAD]
    assert appender.log.active_term_count_acquire() == LAST_TERM


def test_last_term_may_be_filled_to_the_last_position(make):
    appender, _ = make(limit=2**63 - 1, initial_term_id=0, term_id=LAST_TERM, term_offset=65536 - 64)

    assert appender.offer(SOURCE, 0, 32, 0) == appender.log.max_possible_position


def test_back_pressure_near_the_last_position_is_reported_as_max_position_exceeded(make):
    appender, _ = make(limit=0, initial_term_id=0, term_id=LAST_TERM, term_offset=65536 - 64)

    assert appender.offer(SOURCE, 0, 1000, 0) == results.MAX_POSITION_EXCEEDED


@given(sizes=st.lists(st.integers(0, 2000), min_size=1, max_size=60), start=st.integers(0, 2047))
@pytest.mark.parametrize("kind", APPENDERS)
def test_a_batch_writes_the_same_bytes_as_single_offers(make_log, make_batch, kind, sizes, start):
    limit = AtomicBuffer(bytearray(b"\xff" * 7 + b"\x7f"))
    single, batched = (kind(make_log(term_offset=start * 32), 11, 22, limit) for _ in range(2))
    messages = [SOURCE.get_bytes(number, size) for number, size in enumerate(sizes)]
    data, boundaries = make_batch(messages)
    for message in messages:
        while single.offer(AtomicBuffer(message), 0, len(message), 4) == results.ADMIN_ACTION:
            pass

    first = 0
    while first < len(messages):
        appended = batched.offer_batch(data, boundaries, first, len(messages) - first, 4)
        assert appended > 0
        first += appended

    assert batched.position() == single.position()
    assert bytes(batched.log.buffer)[: 3 * 65536] == bytes(single.log.buffer)[: 3 * 65536]


def test_a_batch_stops_at_the_limit_and_the_next_one_returns_the_reason(make, make_batch):
    appender, limit = make(limit=65)
    data, boundaries = make_batch([bytes(32)] * 5)

    assert appender.offer_batch(data, boundaries, 0, 5, 0) == 2
    assert appender.offer_batch(data, boundaries, 2, 3, 0) == results.BACK_PRESSURED

    limit.put_i64(0, 2**62)
    assert appender.offer_batch(data, boundaries, 2, 3, 0) == 3


def test_a_batch_continues_in_the_next_term(make, make_batch):
    appender, _ = make(term_offset=65536 - 160)
    data, boundaries = make_batch([bytes(32)] * 5)

    assert appender.offer_batch(data, boundaries, 0, 5, 0) == 5

    assert appender.position() == 65536 + 3 * 64


def test_a_batch_longer_than_one_claim_is_appended_completely(make, make_batch, read_frames):
    appender, _ = make()
    data, boundaries = make_batch([b""] * 1000)

    assert appender.offer_batch(data, boundaries, 0, 1000, 0) == 1000

    assert len(read_frames(appender.log)) == 1000


def test_an_empty_batch_appends_nothing(make):
    appender, _ = make()

    assert appender.offer_batch(SOURCE, AtomicBuffer.allocate(0), 0, 0, 0) == 0


def test_batch_ends_before_a_message_that_is_too_long(make, make_batch):
    appender, _ = make()
    data, boundaries = make_batch([b"fits", bytes(8193), b"fits"])

    assert appender.offer_batch(data, boundaries, 0, 3, 0) == 1
    assert appender.offer_batch(data, boundaries, 1, 2, 0) == results.ERROR


@pytest.mark.parametrize("broken", [-1, 3, 100, 2**62, -(2**63)])
def test_invalid_boundaries_raise_and_claim_nothing(make, make_batch, broken):
    appender, _ = make()
    data, boundaries = make_batch([b"good", b"broken"])
    boundaries.put_i64(16, broken)

    assert appender.offer_batch(data, boundaries, 0, 2, 0) == 1
    with pytest.raises(
        ValueError, match=f"message 1 from 4 to {broken}: .* from 0 to 10, the length of the data"
    ):
        appender.offer_batch(data, boundaries, 1, 1, 0)

    assert appender.position() == 64


@pytest.mark.parametrize(
    ("first", "count"), [(-1, 1), (0, 3), (2, 1), (3, 1), (0, -1), (2**61, 1), (1, 2**63 - 1)]
)
def test_range_without_boundaries_raises(make, make_batch, first, count):
    appender, _ = make()
    data, boundaries = make_batch([b"one", b"two"])

    with pytest.raises(ValueError, match="at most 2, the number of messages"):
        appender.offer_batch(data, boundaries, first, count, 0)


def test_claims_of_a_crashed_publisher_are_padded_and_the_stream_continues(make, read_frames):
    appender, _ = make()
    appender.offer(SOURCE, 0, 10, 0)
    appender.claim(BufferClaim(), 200)
    appender.offer(SOURCE, 0, 20, 0)
    assert len(read_frames(appender.log)) == 1

    assert unblock(appender.log, 64)

    assert [(frame.type, frame.length) for frame in read_frames(appender.log)] == [(1, 42), (0, 232), (1, 52)]


def test_the_run_of_a_crashed_publisher_is_unblocked_in_one_step(make, make_batch, read_frames):
    appender, _ = make()
    data, boundaries = make_batch([bytes(32)] * 10)
    appender.offer_batch(data, boundaries, 0, 10, 0)
    # The state after a publisher crashed in the fourth of ten messages.
    appender.log.buffer.put_i32(3 * 64, -7 * 64)
    appender.log.buffer.set_memory(4 * 64, 6 * 64, 0)

    assert unblock(appender.log, 3 * 64)

    assert [frame.aligned_length for frame in read_frames(appender.log)] == [64, 64, 64, 7 * 64]


def test_bytes_are_appended_like_the_same_bytes_in_a_buffer(make, read_frames):
    appender, _ = make()

    position = appender.offer_bytes(b"ten bytes.", 7)

    assert position == 64
    (frame,) = read_frames(appender.log)
    assert (frame.payload, frame.reserved_value) == (b"ten bytes.", 7)


def test_bytes_longer_than_a_frame_are_left_to_offer(make):
    appender, _ = make()

    assert appender.offer_bytes(bytes(1408 - 32 + 1), 0) == 0
    assert appender.position() == 0


def test_bytes_are_not_appended_at_the_limit(make):
    appender, _ = make(limit=0)

    assert appender.offer_bytes(b"late", 0) in {0, wire.RESULT_BACK_PRESSURED}
    assert appender.position() == 0
