from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport (
    AtomicBuffer,
    ac_fence_release,
    ac_get_i32_acquire,
    ac_get_u16,
    ac_put_i32,
    ac_put_i32_release,
    ac_put_i64,
    ac_put_u8,
    ac_put_u16,
)

cdef extern from "copies.h" nogil:
    void ac_copy(uint8_t *to, const uint8_t *source, int64_t length) noexcept

# Write the header of a frame that is not complete yet; `mark`, a negative number, is stored as its length.
#
# Memory order: the mark is stored first, and the release fence keeps the stores of the other fields after it. A reader
# waits while the length is not positive; the unblocker reads from the mark how many bytes a publisher that crashed
# had claimed. The caller stores the positive length last, with release: a reader that loads it with acquire sees the
# whole frame.
cdef inline void fill_header(
    uint8_t *frame, int32_t mark, uint8_t flags, uint16_t frame_type, int32_t term_offset, int32_t session_id,
    int32_t stream_id, int32_t term_id, int64_t reserved_value
) noexcept nogil:
    ac_put_i32_release(frame, mark)
    ac_fence_release()
    ac_put_u8(frame + wire.FRAME_VERSION_OFFSET, wire.FRAME_VERSION)
    ac_put_u8(frame + wire.FRAME_FLAGS_OFFSET, flags)
    ac_put_u16(frame + wire.FRAME_TYPE_OFFSET, frame_type)
    ac_put_i32(frame + wire.DATA_TERM_OFFSET_OFFSET, term_offset)
    ac_put_i32(frame + wire.DATA_SESSION_ID_OFFSET, session_id)
    ac_put_i32(frame + wire.DATA_STREAM_ID_OFFSET, stream_id)
    ac_put_i32(frame + wire.DATA_TERM_ID_OFFSET, term_id)
    ac_put_i64(frame + wire.DATA_RESERVED_VALUE_OFFSET, reserved_value)

# Do the same as `fill_header` at `offset` of a buffer; raise IndexError if the header does not fit or is read-only.
cpdef inline int begin_frame(
    AtomicBuffer buffer, int64_t offset, int32_t mark, uint8_t flags, uint16_t frame_type,
    int32_t term_offset, int32_t session_id, int32_t stream_id, int32_t term_id, int64_t reserved_value
) except -1 nogil:
    buffer.check_writable(offset, wire.DATA_HEADER_LENGTH)
    fill_header(
        buffer._address + offset, mark, flags, frame_type, term_offset, session_id, stream_id, term_id,
        reserved_value
    )
    return 0

# Write a whole unfragmented DATA frame into a claim: `length` bytes of payload after the header. Raises IndexError if
# `buffer` is too short or read-only.
cdef inline int write_payload(
    AtomicBuffer buffer, int64_t offset, int32_t term_offset, int32_t session_id, int32_t stream_id,
    int32_t term_id, int64_t reserved_value, const uint8_t *payload, int32_t length
) except -1 nogil:
    buffer.check_writable(offset, wire.DATA_HEADER_LENGTH + <int64_t>length)
    cdef uint8_t *frame = buffer._address + offset
    fill_header(
        frame, -(length + wire.DATA_HEADER_LENGTH), wire.DATA_FLAGS_UNFRAGMENTED, wire.TYPE_DATA,
        term_offset, session_id, stream_id, term_id, reserved_value
    )
    ac_copy(frame + wire.DATA_HEADER_LENGTH, payload, length)
    ac_put_i32_release(frame, length + wire.DATA_HEADER_LENGTH)
    return 0

# Do the same as `write_payload` with a payload in a buffer; raise IndexError if the payload is out of its range, too.
cpdef inline int write_frame(
    AtomicBuffer buffer, int64_t offset, int32_t term_offset, int32_t session_id, int32_t stream_id,
    int32_t term_id, int64_t reserved_value, AtomicBuffer source, int64_t source_offset, int32_t length
) except -1 nogil:
    source.check(source_offset, length)
    return write_payload(
        buffer, offset, term_offset, session_id, stream_id, term_id, reserved_value,
        source._address + source_offset, length
    )

# Do the same as `write_payload` with a Python bytes object of `length` bytes.
cdef inline int write_bytes(
    AtomicBuffer buffer, int64_t offset, int32_t term_offset, int32_t session_id, int32_t stream_id,
    int32_t term_id, int64_t reserved_value, bytes payload, int32_t length
) except -1:
    return write_payload(
        buffer, offset, term_offset, session_id, stream_id, term_id, reserved_value,
        <const uint8_t *>PyBytes_AS_STRING(payload), length
    )

# Return the length in bytes of the frame at `offset`, `left` bytes before the end of its term; 0 if the frame is not
# complete, is padding, or does not end within the term. Acquire: pairs with the release that completes a frame.
cpdef inline int32_t data_frame_length(AtomicBuffer buffer, int64_t offset, int64_t left) except -1 nogil:
    buffer.check(offset, left)
    cdef const uint8_t *frame = buffer._address + offset
    cdef int32_t length = ac_get_i32_acquire(frame)
    if length < wire.DATA_HEADER_LENGTH or ((<int64_t>length + 31) & ~<int64_t>31) > left:
        return 0
    return 0 if ac_get_u16(frame + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD else length
