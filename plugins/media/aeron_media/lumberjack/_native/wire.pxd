# Lumberjack frames: offsets in bytes from the version byte, numbers big-endian and unsigned.

from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer

# Header of every frame; W and A consist of it alone
cpdef enum:
    VERSION_1 = 0x31
    VERSION_2 = 0x32
    TYPE_OFFSET = 1
    NUMBER_OFFSET = 2           # W: count, A and J and D: sequence number, C: length
    NUMBER_LENGTH = 4
    SHORT_FRAME_LENGTH = 6      # W and A, and the header of C
    TYPE_ACK = 0x41
    TYPE_COMPRESSED = 0x43
    TYPE_DATA = 0x44
    TYPE_JSON = 0x4A
    TYPE_WINDOW = 0x57

# J: sequence number, length, payload
cpdef enum:
    JSON_LENGTH_OFFSET = 6
    JSON_PAYLOAD_OFFSET = 10

# D: sequence number, count of pairs, then the length and the bytes of each key and value
cpdef enum:
    PAIR_COUNT_OFFSET = 6
    PAIRS_OFFSET = 10
    STRING_LENGTH_LENGTH = 4

# Wrapping of a message that is not a JSON object: {"message":" and "}
cpdef enum:
    WRAPPING_LENGTH = 14
    WRAPPING_END_LENGTH = 2


cdef inline int64_t read_u32(const uint8_t *at) noexcept nogil:
    return (<int64_t>at[0] << 24) | (<int64_t>at[1] << 16) | (<int64_t>at[2] << 8) | <int64_t>at[3]

cdef inline void write_u32(uint8_t *at, int64_t value) noexcept nogil:
    at[0] = <uint8_t>(value >> 24)
    at[1] = <uint8_t>(value >> 16)
    at[2] = <uint8_t>(value >> 8)
    at[3] = <uint8_t>value

# Never returns -1, which signals an exception: the value has 32 unsigned bits.
cdef inline int64_t get_u32(AtomicBuffer buffer, int64_t offset) except? -1 nogil:
    return read_u32(buffer.at(offset, 4))

cdef inline int32_t put_u32(AtomicBuffer buffer, int64_t offset, int64_t value) except -1 nogil:
    buffer.check_writable(offset, 4)
    write_u32(buffer.at(offset, 4), value)
    return 0

# JSON white space: RFC 8259, section 2.
cdef inline bint is_blank(uint8_t value) noexcept nogil:
    return value == 0x20 or value == 0x0A or value == 0x0D or value == 0x09
