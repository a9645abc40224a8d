"""Messages go in by every way of appending, and come out by every way of reading."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer import results
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.logbuffer.claim import BufferClaim
from aeron_core.logbuffer.cleaner import clean_step
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.gap_filler import try_fill_gap
from aeron_core.logbuffer.gap_scanner import scan_for_gap
from aeron_core.logbuffer.reader import TermReader
from aeron_core.logbuffer.rebuilder import insert
from aeron_core.logbuffer.scanner import scan_for_availability
from aeron_core.logbuffer.unblocker import unblock

FOREVER = 2**63 - 1
APPENDERS = [ConcurrentAppender, ExclusiveAppender]
SIZES = st.lists(st.one_of(st.integers(0, 200), st.integers(0, 8192)), min_size=1, max_size=60)
# The last terms before ids wrap, in the middle of the counts, and at the beginning.
STARTS = st.sampled_from([(0, 0), (2**31 - 1, 1), (-(2**31), 5), (7, 2**31 - 40)])
WINDOW = 32768


def unlimited():
    return AtomicBuffer(bytearray(b"\xff" * 7 + b"\x7f"))


def messages_of(batch):
    bounds = [batch.boundaries.get_i64(8 * number) for number in range(batch.count + 1)]
    return [batch.data.get_bytes(begin, end - begin) for begin, end in pairwise(bounds)]


def payloads(sizes):
    return [bytes([number % 251]) * size for number, size in enumerate(sizes)]


def append_somehow(appender, way, message):
    """Append one message the way that a number says, and return the result of it."""
    source = AtomicBuffer(message)
    if way == 0 and len(message) <= appender.log.max_payload_length:
        claim = BufferClaim()
        result = appender.claim(claim, len(message))
        if result > 0:
            claim.buffer[:] = message
            claim.commit()
        return result
    if way == 1:
        return appender.offer_parts(
            [
                source.view(0, len(message) // 3),
                source.view(len(message) // 3, len(message) - len(message) // 3),
            ],
            0,
        )
    if way == 2:
        boundaries = AtomicBuffer.allocate(16)
        boundaries.put_i64(8, len(message))
        return appender.offer_batch(source, boundaries, 0, 1, 0)
    return appender.offer(source, 0, len(message), 0)


def make_stream(make_log, start):
    initial_term_id, term_count = start
    log = make_log(
        initial_term_id=initial_term_id,
        term_id=positions.add_wrap(initial_term_id, term_count),
        term_offset=4096,
    )
    return log, log.producer_position()


@given(sizes=SIZES, start=STARTS, rng=st.randoms(use_true_random=False))
@pytest.mark.parametrize("kind", APPENDERS)
def test_messages_appended_in_any_way_are_read_in_order_while_the_log_goes_round(
    make_log, kind, sizes, start, rng
):
    log, position = make_stream(make_log, start)
    limit = AtomicBuffer.allocate(8)
    limit.put_i64(0, position + WINDOW)
    appender, reader = kind(log, 11, 22, limit), TermReader(log)
    sent, received, cleaned = payloads(sizes), [], position
    waiting = list(sent)

    while len(received) < len(sent):
        if waiting and append_somehow(appender, rng.randrange(4), waiting[0]) > 0:
            del waiting[0]
        elif rng.random() < 0.7:
            batch = BatchBuffer(rng.randrange(1, 5), 16384)
            reader.read_batch(position, FOREVER, 10, batch)
            position = reader.position
            received += messages_of(batch)
            # What the driver does: clean what is a term behind the reader, and only then raise the limit.
            target = position - 65536
            while cleaned < target:
                cleaned = clean_step(log, cleaned, target)
            limit.put_i64_release(0, position + WINDOW)

    assert received == sent
    assert reader.position == log.producer_position()


@given(sizes=SIZES, start=STARTS, seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_messages_survive_reordering_loss_and_duplicates_of_datagrams(make_log, sizes, start, seed):
    rng = random.Random(seed)
    log, begin = make_stream(make_log, start)
    image, _ = make_stream(make_log, start)
    appender = ExclusiveAppender(log, 11, 22, unlimited())
    sent = []
    for message in payloads(sizes):
        while (result := appender.offer(AtomicBuffer(message), 0, len(message), 0)) == results.ADMIN_ACTION:
            pass
        assert result > 0
        sent.append(message)
        if result - begin > 2 * 65536:
            break
    end = log.producer_position()
    datagrams = list(datagrams_of(log, begin, end))
    reader, batch, received = TermReader(image), BatchBuffer(100, 2**20), []

    position = rebuilt = begin
    while position < end:
        for at, length in rng.sample(datagrams, rng.randrange(len(datagrams) + 1)):
            if rng.random() < 0.8:
                insert(image.buffer, image.frame_offset(at), log.buffer, log.frame_offset(at), length)
        rebuilt = contiguous_position(image, rebuilt, end)
        batch.clear()
        reader.read_batch(position, FOREVER, 100, batch)
        position = reader.position
        received += messages_of(batch)

    assert received == sent
    assert reader.dropped == 0
    assert contiguous_position(image, begin, end) == end


@given(sizes=SIZES, seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_unreliable_stream_drops_messages_of_lost_datagrams_and_no_others(make_log, sizes, seed):
    rng = random.Random(seed)
    log, image = make_log(), make_log()
    appender = ExclusiveAppender(log, 11, 22, unlimited())
    sent = [m for m in payloads(sizes) if 0 < appender.offer(AtomicBuffer(m), 0, len(m), 0) <= 65536]
    end = min(log.producer_position(), 65536)
    for at, length in datagrams_of(log, 0, end):
        if rng.random() < 0.8:
            insert(image.buffer, at, log.buffer, at, length)

    offset = 0
    while offset < end:
        pair = scan_for_gap(image.buffer, 0, offset, end)
        offset = positions.high_of_pair(pair)
        if positions.low_of_pair(pair) > 0:
            assert try_fill_gap(image, 7, offset, positions.low_of_pair(pair))
    reader, batch = TermReader(image), BatchBuffer(100, 2**20)
    reader.read_batch(0, FOREVER, 100, batch)

    received = iter(sent)
    assert reader.position == end
    assert all(message in received for message in messages_of(batch))  # in order, whole, none twice


def test_dead_publishers_do_not_stop_the_stream(make_log):
    log = make_log()
    limit = unlimited()
    appenders = [ConcurrentAppender(log, 11, 22, limit) for _ in range(2)]
    rng = random.Random(5)
    sent, abandoned = [], []
    while log.active_term_count_acquire() < 2:
        message = bytes([len(sent) % 251]) * rng.randrange(1000)
        if rng.random() < 0.1:
            claim = BufferClaim()
            appenders[0].claim(claim, rng.randrange(500))
            abandoned.append(claim)
        elif appenders[1].offer(AtomicBuffer(message), 0, len(message), 0) > 0:
            sent.append(message)
    reader, batch = TermReader(log), BatchBuffer(10000, 2**20)

    position, unblocked = 0, 0
    while position < log.producer_position():
        reader.read_batch(position, FOREVER, 10000, batch)
        if reader.position == position:
            if not unblock(log, position):
                break
            unblocked += 1
        position = reader.position

    assert messages_of(batch) == sent
    assert unblocked == sum(claim.is_open for claim in abandoned)


def datagrams_of(log, position, end):
    while position < end:
        left = log.term_length - (position & log.term_length_mask)
        pair = scan_for_availability(log.buffer, log.frame_offset(position), left, log.mtu_length)
        yield position, positions.low_of_pair(pair)
        position += positions.low_of_pair(pair) + positions.high_of_pair(pair)


def contiguous_position(image, position, end):
    while position < end:
        begin = position - (position & image.term_length_mask)
        limit = min(image.term_length, end - begin)
        pair = scan_for_gap(image.buffer, image.frame_offset(begin), position - begin, limit)
        position = begin + positions.high_of_pair(pair)
        if positions.low_of_pair(pair) > 0:
            break
    return position


def test_last_term_carries_messages_up_to_the_last_position(make_log):
    log = make_log(initial_term_id=5, term_id=positions.add_wrap(5, 2**31 - 1), term_offset=65536 - 160)
    begin = log.producer_position()
    appender = ConcurrentAppender(log, 11, 22, unlimited())
    reader, batch = TermReader(log), BatchBuffer(10, 1000)

    taken = [appender.offer(AtomicBuffer(b"last"), 0, 4, 0) for _ in range(4)]

    assert taken == [begin + 64, begin + 128, results.MAX_POSITION_EXCEEDED, results.MAX_POSITION_EXCEEDED]
    assert reader.read_batch(begin, FOREVER, 10, batch) == 2
    assert reader.position == log.max_possible_position == 65536 << 31
    assert log.buffer.get_u16(log.frame_offset(begin + 128) + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
