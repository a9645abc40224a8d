# Wire format of SP PAIR; lengths are bytes.
# Source: the Pair Scalability Protocol v1, and the mappings of SP to TCP and to Unix sockets.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue

cpdef enum:
    PROTOCOL_PAIR0 = 16
    PROTOCOL_PAIR1 = 17

# Greeting of both ends: zero, 'S', 'P', version zero, protocol (16 bits, big-endian), 16 reserved bits.
cpdef enum:
    GREETING_LENGTH = 8
    GREETING_MAGIC = 0x00535000
    GREETING_PROTOCOL_OFFSET = 4
    GREETING_RESERVED_OFFSET = 6

# A message: on Unix sockets a type; length of the payload (64 bits, big-endian); payload.
cpdef enum:
    LENGTH_LENGTH = 8
    TYPE_LENGTH = 1
    TYPE_MESSAGE = 1

# The payload of PAIR1 begins with the number of hops: 32 bits, big-endian, the upper 24 bits are reserved.
cpdef enum:
    HOPS_LENGTH = 4
    MAX_HOPS = 255
    DEFAULT_TTL = 8


cdef enum:
    LONGEST = 0x7FFFFFFFFFFFFFFF

# Read an unsigned number of 64 bits, limited to the largest int64_t.
cdef inline int64_t get_u64(AtomicBuffer buffer, int64_t offset) except? -1 nogil:
    cdef uint8_t *at = buffer.at(offset, 8)
    cdef uint64_t value = 0
    cdef int i
    for i in range(8):
        value = (value << 8) | at[i]
    return <int64_t>value if value <= <uint64_t>LONGEST else <int64_t>LONGEST

cdef inline int64_t get_u32(AtomicBuffer buffer, int64_t offset) except? -1 nogil:
    cdef uint8_t *at = buffer.at(offset, 4)
    return (<int64_t>at[0] << 24) | (<int64_t>at[1] << 16) | (<int64_t>at[2] << 8) | <int64_t>at[3]

cdef inline int64_t get_u16(AtomicBuffer buffer, int64_t offset) except? -1 nogil:
    cdef uint8_t *at = buffer.at(offset, 2)
    return (<int64_t>at[0] << 8) | <int64_t>at[1]

# Append the prefix of a message, and the hops unless `hops` is negative. The queue must have reserved the space.
cdef inline void write_head(ByteQueue queue, bint has_type, int64_t payload_length, int64_t hops) noexcept nogil:
    cdef int i
    if has_type:
        queue.write_u8(TYPE_MESSAGE)
    for i in range(8):
        queue.write_u8(<uint8_t>(<uint64_t>payload_length >> (56 - 8 * i)))
    if hops >= 0:
        queue.write_u8(0)
        queue.write_u8(0)
        queue.write_u8(0)
        queue.write_u8(<uint8_t>hops)
