"""Agents that share a log, a ring or a report without the GIL, and check what they read.

Each function is the loop of one thread. It returns when its work is done or the test is stopped, and raises
AssertionError, which stops the test, if an invariant does not hold.

A message: producer (int32), serial number (int32), then bytes that both determine.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport positions, wire
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core.concurrent.loss_writer cimport StreamLosses
from aeron_core.logbuffer.appender cimport Appender
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.cleaner cimport clean_step
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.gap_scanner cimport scan_for_gap
from aeron_core.logbuffer.reader cimport TermReader
from aeron_core.logbuffer.rebuilder cimport insert
from aeron_core.logbuffer.scanner cimport scan_for_availability
from aeron_core.logbuffer.unblocker cimport unblock

cdef extern from "<sched.h>" nogil:
    int sched_yield()

# Offsets of what the threads share, in cache lines of their own.
STOPPED_OFFSET = 0
LIMIT_OFFSET = 64
ABANDONED_OFFSET = 128
POSITIONS_OFFSET = 192
STATE_LENGTH = 1024

cdef enum:
    STOPPED = 0        # not 0: every thread returns
    LIMIT = 64         # publisher limit
    ABANDONED = 128    # position of a claim that its publisher will never complete, -1 for none
    POSITIONS = 192    # positions of the subscribers
    LINE = 64
    BATCH = 16         # messages of a batch
    LONGEST = 4096     # bytes of the longest message
    HELD = 4           # packets that arrive in another order


cdef bint is_stopped(AtomicBuffer state) except -1 nogil:
    return state.get_i64_acquire(STOPPED) != 0


cdef int fail(AtomicBuffer state, str reason, int64_t got, int64_t expected) except -1 with gil:
    state.put_i64_release(STOPPED, 1)
    raise AssertionError(f"{reason}: {got}, expected {expected}")


cdef int check_equal(AtomicBuffer state, str reason, int64_t got, int64_t expected) except -1 nogil:
    return 0 if got == expected else fail(state, reason, got, expected)


cdef int check_at_least(AtomicBuffer state, str reason, int64_t got, int64_t least) except -1 nogil:
    return 0 if got >= least else fail(state, reason, got, least)


cdef int32_t length_of(int32_t producer, int32_t serial) noexcept nogil:
    if serial % 61 == 60:
        return LONGEST - serial % 1024
    return 8 + (serial * 37 + producer * 11) % 220


cdef uint8_t byte_of(int32_t producer, int32_t serial, int32_t index) noexcept nogil:
    return <uint8_t>(producer * 89 + serial * 7 + index)


cdef int write_message(AtomicBuffer to, int64_t offset, int32_t producer, int32_t serial) except -1 nogil:
    cdef int32_t index
    to.put_i32(offset, producer)
    to.put_i32(offset + 4, serial)
    for index in range(8, length_of(producer, serial)):
        to.put_u8(offset + index, byte_of(producer, serial, index))
    return 0


cdef int check_bytes(
    AtomicBuffer state, AtomicBuffer data, int64_t offset, int32_t begin, int32_t end, int32_t producer, int32_t serial
) except -1 nogil:
    """Check the bytes from `begin` to `end` of a message, of which `offset` is the first."""
    cdef int32_t index
    for index in range(begin, end):
        check_equal(state, "byte", data.get_u8(offset + index - begin), byte_of(producer, serial, index))
    return 0


cdef int check_message(
    AtomicBuffer state, AtomicBuffer serials, int32_t producers, AtomicBuffer data, int64_t offset, int64_t length
) except -1 nogil:
    """Check that a message is whole, and the next one of its producer."""
    cdef int32_t producer, serial
    check_at_least(state, "message length", length, 8)
    producer = data.get_i32(offset)
    serial = data.get_i32(offset + 4)
    check_at_least(state, "producer", producer, 0)
    check_at_least(state, "producers", producers - 1, producer)
    check_equal(state, "serial number", serial, serials.get_i32(producer * 4))
    check_equal(state, "message length", length, length_of(producer, serial))
    check_bytes(state, data, offset + 8, 8, <int32_t>length, producer, serial)
    serials.put_i32(producer * 4, serial + 1)
    return 0


def publish(Appender appender, LogBuffer log, AtomicBuffer state, int32_t producer, int32_t count):
    """Append `count` messages in turns by batch, claim and offer."""
    cdef AtomicBuffer data = AtomicBuffer.allocate(BATCH * LONGEST), ends = AtomicBuffer.allocate(8 * BATCH + 8)
    cdef BufferClaim claim = BufferClaim()
    cdef int32_t serial = 0, length, turn = 0, taken
    cdef int64_t result, last = 0, end
    with nogil:
        while serial < count and not is_stopped(state):
            turn += 1
            length = length_of(producer, serial)
            if turn % 4 == 0:
                end = 0
                taken = 0
                while taken < BATCH and serial + taken < count:
                    write_message(data, end, producer, serial + taken)
                    end += length_of(producer, serial + taken)
                    taken += 1
                    ends.put_i64(8 * taken, end)
                result = appender.offer_batch(data, ends, 0, taken, producer)
                if result > 0:
                    check_at_least(state, "messages of a batch", taken, result)
                    serial += <int32_t>result
            else:
                if turn % 2 and length <= log.max_payload_length:
                    result = appender.claim(claim, length)
                    if result > 0:
                        write_message(claim.log_buffer, claim.payload_offset(), producer, serial)
                        claim.set_reserved_value(producer)
                        if turn % 5 == 0:
                            claim.abort()
                        else:
                            claim.commit()
                            serial += 1
                else:
                    write_message(data, 0, producer, serial)
                    result = appender.offer(data, 0, length, producer)
                    serial += 1 if result > 0 else 0
                if result > 0:
                    check_at_least(state, "position of a publisher", result, last + length)
                    last = result
            if result == wire.RESULT_BACK_PRESSURED or result == wire.RESULT_ADMIN_ACTION:
                sched_yield()
            elif result <= 0:
                fail(state, "result of a publisher", result, 1)


def abandon(Appender appender, LogBuffer log, AtomicBuffer state, int32_t count):
    """Make `count` claims that are never completed, each after the one before was unblocked."""
    cdef BufferClaim claim
    cdef int64_t result
    cdef int32_t made = 0
    while made < count and not is_stopped(state):
        claim = BufferClaim()
        with nogil:
            result = appender.claim(claim, 100 + made % 700)
            if result > 0:
                made += 1
                state.put_i64_release(ABANDONED, result - positions.align_frame(claim.length + wire.DATA_HEADER_LENGTH))
            while not is_stopped(state) and state.get_i64_acquire(ABANDONED) >= 0:
                sched_yield()


def subscribe(
    TermReader reader, AtomicBuffer state, int32_t subscriber, int32_t producers, int64_t total, bint in_batches
):
    """Read and check `total` messages, and store the position after each step; return the final position."""
    cdef AtomicBuffer serials = AtomicBuffer.allocate(4 * producers)
    cdef BatchBuffer batch = BatchBuffer(64, 64 * LONGEST)
    cdef int64_t seen = 0, last = 0, position = 0, offset, at, begin
    cdef int32_t producer = 0, serial = 0, filled = 0, length
    cdef uint8_t flags
    with nogil:
        while seen < total and not is_stopped(state):
            if in_batches:
                batch.clear()
                reader.read_batch(position, positions.max_possible_position(reader.log.term_length), 64, batch)
                for at in range(batch.count):
                    begin = batch.boundaries.get_i64(8 * at)
                    length = <int32_t>(batch.boundaries.get_i64(8 * at + 8) - begin)
                    check_equal(state, "reserved value", batch.reserved_values.get_i64(8 * at), batch.data.get_i32(begin))
                    check_message(state, serials, producers, batch.data, begin, length)
                    check_at_least(state, "position of a message", batch.positions.get_i64(8 * at), last + 32)
                    last = batch.positions.get_i64(8 * at)
                seen += batch.count
                offset = batch.count - 1
            else:
                offset = reader.next_frame(position, positions.max_possible_position(reader.log.term_length))
                if offset >= 0:
                    flags = reader.log.buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
                    length = reader.frame_length - wire.DATA_HEADER_LENGTH
                    begin = offset + wire.DATA_HEADER_LENGTH
                    if flags & wire.DATA_FLAGS_UNFRAGMENTED == wire.DATA_FLAGS_UNFRAGMENTED:
                        check_equal(state, "bytes of an incomplete message", filled, 0)
                        check_message(state, serials, producers, reader.log.buffer, begin, length)
                        seen += 1
                    else:
                        if flags & wire.DATA_FLAG_BEGIN:
                            check_equal(state, "bytes of an incomplete message", filled, 0)
                            producer = reader.log.buffer.get_i32(begin)
                            serial = reader.log.buffer.get_i32(begin + 4)
                            check_equal(state, "serial number", serial, serials.get_i32(producer * 4))
                            check_bytes(state, reader.log.buffer, begin + 8, 8, length, producer, serial)
                        else:
                            check_bytes(state, reader.log.buffer, begin, filled, filled + length, producer, serial)
                        filled += length
                        if flags & wire.DATA_FLAG_END:
                            check_equal(state, "message length", filled, length_of(producer, serial))
                            serials.put_i32(producer * 4, serial + 1)
                            filled = 0
                            seen += 1
            check_at_least(state, "position of a subscriber", reader.position, position)
            # Only if it has moved, as in the client: each store orders all loads before it, and hides races of them.
            if reader.position != position:
                position = reader.position
                state.put_i64_release(POSITIONS + subscriber * LINE, position)
            if offset < 0:
                sched_yield()
    return position


cdef int64_t lowest_position(AtomicBuffer state, int32_t subscribers) except? -1 nogil:
    cdef int64_t lowest = state.get_i64_acquire(POSITIONS), position
    cdef int32_t subscriber
    for subscriber in range(1, subscribers):
        position = state.get_i64_acquire(POSITIONS + subscriber * LINE)
        lowest = min(lowest, position)
    return lowest


def conduct(LogBuffer log, AtomicBuffer state, int32_t subscribers, int64_t window):
    """Clean behind the slowest subscriber, move the limit, and pad abandoned claims, until the test is stopped."""
    cdef int64_t lowest, last = 0, cleaned = 0, produced = 0, abandoned, unblocked = 0
    with nogil:
        while not is_stopped(state):
            lowest = lowest_position(state, subscribers)
            check_at_least(state, "lowest position", lowest, last)
            if lowest != last:
                last = lowest
                while cleaned < lowest - log.term_length:
                    cleaned = clean_step(log, cleaned, lowest - log.term_length)
                state.put_i64_release(LIMIT, lowest + window)
            check_at_least(state, "position of the producers", log.producer_position(), produced)
            produced = log.producer_position()
            abandoned = state.get_i64_acquire(ABANDONED)
            # Only a claim that really was abandoned: the timeout that lets the driver assume it is not part of this.
            if abandoned >= 0 and abandoned == lowest:
                check_equal(state, "unblocked", unblock(log, abandoned), 1)
                unblocked += 1
                state.put_i64_release(ABANDONED, -1)
            sched_yield()
    return unblocked


def relay(LogBuffer source, LogBuffer image, AtomicBuffer state, AtomicBuffer image_state, int64_t window):
    """Send the frames of `source` to `image`, in another order and partly twice, until the test is stopped.

    Both agents of a driver in one thread: the sender's scan, and the receiver's insertion, gap scan and cleaning.
    """
    cdef int64_t position = 0, next_position, rebuilt = 0, cleaned = 0, subscribed, found, gap
    cdef int64_t begins[HELD]
    cdef int32_t lengths[HELD]
    cdef int32_t held, index, available, padding, turn = 0, left
    with nogil:
        while not is_stopped(state) and not is_stopped(image_state):
            turn += 1
            subscribed = image_state.get_i64_acquire(POSITIONS)
            while cleaned < subscribed - image.term_length:
                cleaned = clean_step(image, cleaned, subscribed - image.term_length)
            next_position = position
            held = 0
            while held < HELD and next_position < subscribed + window:
                left = source.term_length - positions.compute_term_offset(next_position, source.position_bits_to_shift)
                found = scan_for_availability(
                    source.buffer, source.frame_offset(next_position), left, source.mtu_length
                )
                available = positions.low_of_pair(found)
                padding = positions.high_of_pair(found)
                if available <= 0:
                    check_equal(state, "available", available, 0)
                    break
                begins[held] = next_position
                lengths[held] = available
                held += 1
                next_position += available + padding
                # A receiver scans one term at a time.
                if left == available + padding:
                    break
            for index in range(held):
                found = (index + turn) % held
                check_equal(state, "inserted", insert(
                    image.buffer, image.frame_offset(begins[found]), source.buffer, source.frame_offset(begins[found]),
                    lengths[found]
                ), 1)
                if turn % 3 == 0:
                    check_equal(state, "inserted again", insert(
                        image.buffer, image.frame_offset(begins[found]), source.buffer,
                        source.frame_offset(begins[found]), lengths[found]
                    ), 0)
                left = positions.compute_term_offset(rebuilt, image.position_bits_to_shift)
                gap = scan_for_gap(
                    image.buffer, image.frame_offset(rebuilt - left), left, <int32_t>min(
                        <int64_t>image.term_length, left + next_position - rebuilt
                    )
                )
                check_at_least(image_state, "rebuilt", positions.high_of_pair(gap), left)
                rebuilt += positions.high_of_pair(gap) - left
            check_equal(state, "rebuilt", rebuilt, next_position)
            position = next_position
            if held > 0:
                # The sender's position: the terms of the source are cleaned behind it.
                state.put_i64_release(POSITIONS, position)
            else:
                sched_yield()
    return position


def command(CommandRing ring, AtomicBuffer state, int32_t count):
    """Offer `count` commands with arguments that follow from their number."""
    cdef Command sent = Command()
    cdef AtomicBuffer text = AtomicBuffer.allocate(64)
    cdef int32_t number = 0, index
    with nogil:
        while number < count and not is_stopped(state):
            sent.begin(number, NULL)
            for index in range(8):
                sent.set_number(index, number + index)
            for index in range(4):
                sent.set_value(index, <int64_t>number << index)
            text.set_memory(0, 64, <uint8_t>number)
            sent.set_text(text, 0, number % 64)
            if ring.offer(sent):
                number += 1
            else:
                sched_yield()


def obey(CommandRing ring, AtomicBuffer state, int32_t count):
    """Poll and check `count` commands."""
    cdef Command received = Command()
    cdef int32_t number = 0, index
    with nogil:
        while number < count and not is_stopped(state):
            if not ring.poll(received):
                sched_yield()
                continue
            check_equal(state, "operation", received.operation(), number)
            for index in range(8):
                check_equal(state, "number", received.number(index), number + index)
            for index in range(4):
                check_equal(state, "value", received.value(index), <int64_t>number << index)
            check_equal(state, "length of the text", received._slot.text_length, number % 64)
            for index in range(number % 64):
                check_equal(state, "text", <uint8_t>received._slot.text[index], <uint8_t>number)
            number += 1


def announce(AtomicLong number, AtomicBuffer data, AtomicBuffer state, int32_t count):
    """Store numbers, each after the plain bytes that it stands for."""
    cdef int32_t value
    with nogil:
        for value in range(1, count + 1):
            data.put_i64(8 * value, value * <int64_t>3)
            number.set_release(value)


def observe(AtomicLong number, AtomicBuffer data, AtomicBuffer state, int32_t count):
    """Check that the numbers grow, and that what each stands for is visible with it."""
    cdef int64_t value = 0, next_value
    with nogil:
        while value < count and not is_stopped(state):
            next_value = number.get_acquire()
            check_at_least(state, "number", next_value, value)
            value = next_value
            if value > 0:
                check_equal(state, "data", data.get_i64(8 * value), value * 3)


def lose(StreamLosses losses, AtomicBuffer state, int32_t count):
    """Record `count` losses of 100 bytes."""
    cdef int32_t number
    with nogil:
        for number in range(count):
            check_equal(state, "offset of the entry", losses.record(100, 1000 + number), 0)


def audit(AtomicBuffer report, AtomicBuffer state, int32_t session_id, int32_t count):
    """Check that the entry at the begin of the report is complete whenever its count is not 0, and its totals grow."""
    cdef int64_t seen = 0, observations, total
    with nogil:
        while seen < count and not is_stopped(state):
            observations = report.get_i64_acquire(wire.LOSS_OBSERVATION_COUNT_OFFSET)
            check_at_least(state, "observations", observations, seen)
            seen = observations
            if seen > 0:
                total = report.get_i64_acquire(wire.LOSS_TOTAL_BYTES_OFFSET)
                check_at_least(state, "bytes lost", total, 100 * seen)
                check_equal(state, "session id", report.get_i32(wire.LOSS_SESSION_ID_OFFSET), session_id)
                check_equal(state, "first loss", report.get_i64(wire.LOSS_FIRST_OBSERVATION_OFFSET), 1000)
                check_at_least(
                    state, "last loss", report.get_i64_acquire(wire.LOSS_LAST_OBSERVATION_OFFSET), 1000 + seen - 1
                )
