from libc.stdint cimport int64_t, uint32_t

from aeron_core._native.buffer cimport AtomicBuffer

# Layout of an entry of an index file; aeron_core.recording.storage.index describes the fields.
cpdef enum:
    ENTRY_LENGTH = 24
    ENTRY_END_POSITION_OFFSET = 0
    ENTRY_CRC32_OFFSET = 16

# Checksums that an Aeron Archive can store in place of the session ids of frames.
cpdef enum:
    NO_CHECKSUM = 0
    CRC32
    CRC32C

cpdef int64_t crc32(AtomicBuffer data, int64_t begin, int64_t length, uint32_t value) except -1 nogil
cpdef int64_t crc32_by_tables(AtomicBuffer data, int64_t begin, int64_t length, uint32_t value) except -1 nogil
cpdef int64_t crc32c(AtomicBuffer data, int64_t begin, int64_t length) except -1 nogil
