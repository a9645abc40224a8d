"""Runs of single-frame messages, copied between a log and contiguous memory in one loop.

Not here: claims, fragments and padding: a loop stops at the first message that it cannot copy, and its caller handles
that message.
Invariant: whatever another thread does to the memory meanwhile, no byte outside the ranges given by the caller is read
or written.
"""

from libc.stdint cimport uint8_t

from aeron_core._native cimport frames, positions, wire
from aeron_core._native.buffer cimport (
    ac_get_i32,
    ac_get_i32_acquire,
    ac_get_i64,
    ac_get_u8,
    ac_get_u16,
    ac_put_i32,
    ac_put_i32_release,
    ac_put_i64,
)


cdef inline int64_t bounded(int64_t entries) noexcept nogil:
    """Return a number of entries with a length in bytes that does not overflow, and is out of range if theirs is."""
    return -2 if entries < 0 else min(entries, <int64_t>1 << 56)


cpdef int64_t measure_run(
    AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t max_payload_length,
    int64_t space, int64_t allowance
) except -1 nogil:
    """Return `positions.pack_pair(messages, bytes)`: how many from `first` on fit one claim, and their log bytes.

    `boundaries`: int64, message i is from entry i to entry i + 1 of `data`; raises IndexError unless it has the entries
    `first` to `first + count`. A message belongs to the run if it has at most `max_payload_length` bytes and valid
    boundaries, its frame starts less than `allowance` bytes after the run's begin, and the frames need at most `space`
    bytes.
    """
    cdef const uint8_t *boundary = boundaries.at(bounded(first) * 8, (bounded(count) + 1) * 8)
    cdef int64_t taken = 0
    cdef int64_t run_length = 0
    cdef int64_t begin = ac_get_i64(boundary)
    cdef int64_t end, aligned_length
    while taken < count and run_length < allowance:
        boundary += 8
        end = ac_get_i64(boundary)
        if begin < 0 or end < begin or end > data.capacity or end - begin > max_payload_length:
            break
        aligned_length = positions.align_frame(end - begin + wire.DATA_HEADER_LENGTH)
        if aligned_length > space - run_length:
            break
        run_length += aligned_length
        taken += 1
        begin = end
    return positions.pack_pair(taken, run_length)


cpdef int64_t write_run(
    AtomicBuffer log, int64_t offset, int64_t length, AtomicBuffer data, AtomicBuffer boundaries, int64_t first,
    int64_t count, int32_t term_offset, int32_t session_id, int32_t stream_id, int32_t term_id,
    int64_t reserved_value
) except -1 nogil:
    """Write `count` messages as frames into the claim of `length` bytes at `offset`; return the bytes left over.

    `data`, `boundaries`: see `measure_run`. Bytes are left over if another thread changed the boundaries after they
    were measured. Raises IndexError if the claim is out of range or `log` is read-only.
    """
    cdef const uint8_t *boundary = boundaries.at(bounded(first) * 8, (bounded(count) + 1) * 8)
    cdef int64_t begin = ac_get_i64(boundary)
    cdef int64_t end, frame_length, aligned_length
    log.check_writable(offset, length)
    while count > 0:
        boundary += 8
        end = ac_get_i64(boundary)
        if begin < 0 or end < begin or end > data.capacity:
            break
        frame_length = end - begin + wire.DATA_HEADER_LENGTH
        aligned_length = positions.align_frame(frame_length)
        if aligned_length > length:
            break
        frames.fill_header(
            log._address + offset, -<int32_t>length, wire.DATA_FLAGS_UNFRAGMENTED, wire.TYPE_DATA, term_offset,
            session_id, stream_id, term_id, reserved_value
        )
        frames.ac_copy(log._address + offset + wire.DATA_HEADER_LENGTH, data._address + begin, end - begin)
        length -= aligned_length
        if length > 0:
            # Mark the rest of the claim before this frame is complete: if this thread crashes, the unblocker finds one
            # mark that covers all incomplete bytes.
            ac_put_i32_release(log._address + offset + aligned_length, -<int32_t>length)
        ac_put_i32_release(log._address + offset, <int32_t>frame_length)
        offset += aligned_length
        term_offset += <int32_t>aligned_length
        begin = end
        count -= 1
    return length


cpdef int64_t read_run(
    AtomicBuffer log, int64_t offset, int64_t left, int64_t reach, int64_t position, int64_t max_messages,
    AtomicBuffer data, int64_t data_length, AtomicBuffer boundaries, AtomicBuffer stream_positions,
    AtomicBuffer reserved_values, AtomicBuffer session_ids, int64_t first
) except -1 nogil:
    """Copy messages from `offset` of the log on, after the `data_length` bytes in `data`, and return how many.

    `left`: bytes to the end of the term. Stops before a frame that starts `reach` or more bytes after `offset`, is not
    complete, is padding or a fragment, or does not fit into `data`.
    The arrays get one entry per message: `boundaries`, from index `first + 1` on, its end in `data`; the others, from
    `first` on, its end in the stream (the first message begins at `position`), its reserved value (these three int64)
    and its session id (int32). Raises IndexError if an array has no space for `max_messages` entries.
    """
    cdef const uint8_t *frame = log.at(offset, left)
    first = bounded(first)
    max_messages = bounded(max_messages)
    boundaries.check_writable(first * 8 + 8, max_messages * 8)
    stream_positions.check_writable(first * 8, max_messages * 8)
    reserved_values.check_writable(first * 8, max_messages * 8)
    session_ids.check_writable(first * 4, max_messages * 4)
    data.check_writable(data_length, 0)
    cdef uint8_t *ends = boundaries._address + first * 8 + 8
    cdef uint8_t *to_positions = stream_positions._address + first * 8
    cdef uint8_t *to_reserved_values = reserved_values._address + first * 8
    cdef uint8_t *to_session_ids = session_ids._address + first * 4
    cdef uint8_t *to_data = data._address + data_length
    cdef int64_t space = data.capacity - data_length
    cdef int64_t taken = 0
    cdef int64_t done = 0
    cdef int64_t length, aligned_length
    # No frame begins at the end of the term: its length must not be read there.
    reach = min(reach, left)
    while taken < max_messages and done < reach:
        # Acquire: pairs with the release of the length, which the publisher stores last.
        length = <int64_t>ac_get_i32_acquire(frame) - wire.DATA_HEADER_LENGTH
        aligned_length = positions.align_frame(length + wire.DATA_HEADER_LENGTH)
        if length < 0 or length > space or aligned_length > left - done:
            break
        if (
            ac_get_u8(frame + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAGS_UNFRAGMENTED
            != wire.DATA_FLAGS_UNFRAGMENTED
            or ac_get_u16(frame + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
        ):
            break
        frames.ac_copy(to_data, frame + wire.DATA_HEADER_LENGTH, length)
        to_data += length
        space -= length
        done += aligned_length
        ac_put_i64(ends + taken * 8, data.capacity - space)
        ac_put_i64(to_positions + taken * 8, position + done)
        ac_put_i64(to_reserved_values + taken * 8, ac_get_i64(frame + wire.DATA_RESERVED_VALUE_OFFSET))
        ac_put_i32(to_session_ids + taken * 4, ac_get_i32(frame + wire.DATA_SESSION_ID_OFFSET))
        frame += aligned_length
        taken += 1
    return taken
