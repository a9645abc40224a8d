"""CRC-32 as in zlib: by multiplication of polynomials if the processor supports it, else by tables; and CRC-32C.

Not here: which bytes of a recording are summed (check_sums).
"""

from libc.stdint cimport uint8_t

cdef extern from "crc32.h" nogil:
    void rc_make_tables()
    int rc_has_vectors()
    uint32_t rc_crc32(uint32_t value, const uint8_t *data, int64_t length, int has_vectors)
    uint32_t rc_crc32c(const uint8_t *data, int64_t length)

rc_make_tables()

cdef int _has_vectors = rc_has_vectors()


cpdef int64_t crc32(AtomicBuffer data, int64_t begin, int64_t length, uint32_t value) except -1 nogil:
    """Return the checksum of `length` bytes at `begin` that follow those with the checksum `value`, 0 for none.

    Raises IndexError for a range beyond the buffer.
    """
    data.check(begin, length)
    return rc_crc32(value, data._address + begin, length, _has_vectors)


cpdef int64_t crc32_by_tables(AtomicBuffer data, int64_t begin, int64_t length, uint32_t value) except -1 nogil:
    """Return the same as `crc32`, computed as on processors without polynomial multiplication."""
    data.check(begin, length)
    return rc_crc32(value, data._address + begin, length, 0)


cpdef int64_t crc32c(AtomicBuffer data, int64_t begin, int64_t length) except -1 nogil:
    """Return the CRC-32C of `length` bytes at `begin`.

    Raises IndexError for a range beyond the buffer.
    """
    data.check(begin, length)
    return rc_crc32c(data._address + begin, length)
