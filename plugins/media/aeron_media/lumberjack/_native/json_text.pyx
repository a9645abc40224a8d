"""Bytes as the content of a JSON string: RFC 8259, section 7.

UTF-8 is copied except for quotes, backslashes and control characters, which are escaped; each maximal invalid
subsequence becomes U+FFFD, as in Unicode 15, section 3.9, and Python's `errors="replace"`.
"""

from libc.string cimport memcpy

cdef enum:
    ESCAPE_LENGTH = 6           # \u001f
    REPLACEMENT_LENGTH = 3      # U+FFFD
    FIRST_PLAIN = 0x20
    QUOTE = 0x22
    BACKSLASH = 0x5C
    FIRST_OF_MANY = 0x80

# Length of each byte as JSON; 0 from 0x80 on, because `character_length` examines the bytes of longer characters.
cdef uint8_t[256] LENGTHS
# Character after the backslash of a short escape, or 0.
cdef uint8_t[256] SHORT_ESCAPES


cdef void fill_tables() noexcept nogil:
    cdef int value
    for value in range(FIRST_OF_MANY):
        LENGTHS[value] = ESCAPE_LENGTH if value < FIRST_PLAIN else 1
    for value in range(256):
        SHORT_ESCAPES[value] = 0
    SHORT_ESCAPES[QUOTE] = QUOTE
    SHORT_ESCAPES[BACKSLASH] = BACKSLASH
    SHORT_ESCAPES[8] = 98       # b
    SHORT_ESCAPES[9] = 116      # t
    SHORT_ESCAPES[10] = 110     # n
    SHORT_ESCAPES[12] = 102     # f
    SHORT_ESCAPES[13] = 114     # r
    for value in range(FIRST_OF_MANY):
        if SHORT_ESCAPES[value]:
            LENGTHS[value] = 2

fill_tables()


# Return the length of a multi-byte character, or the negated length of an invalid subsequence.
cdef inline int64_t character_length(const uint8_t *source, int64_t left) noexcept nogil:
    cdef uint8_t first = source[0]
    cdef uint8_t low = 0x80
    cdef uint8_t high = 0xBF
    cdef int64_t length, i
    if 0xC2 <= first <= 0xDF:
        length = 2
    elif 0xE0 <= first <= 0xEF:
        length = 3
        if first == 0xE0:
            low = 0xA0      # no overlong forms
        elif first == 0xED:
            high = 0x9F     # no surrogates
    elif 0xF0 <= first <= 0xF4:
        length = 4
        if first == 0xF0:
            low = 0x90
        elif first == 0xF4:
            high = 0x8F     # nothing above U+10FFFF
    else:
        return -1
    for i in range(1, length):
        if i >= left or not low <= source[i] <= high:
            return -i
        low = 0x80
        high = 0xBF
    return length


cdef int64_t text_length(AtomicBuffer source, int64_t offset, int64_t length) except -1 nogil:
    source.check(offset, length)
    return length_of(source._address + offset, length)


cdef int64_t length_of(const uint8_t *source, int64_t length) noexcept nogil:
    cdef int64_t total = 0
    cdef int64_t at = 0
    cdef int64_t step
    while at < length:
        if source[at] < FIRST_OF_MANY:
            total += LENGTHS[source[at]]
            at += 1
            continue
        step = character_length(source + at, length - at)
        total += step if step > 0 else REPLACEMENT_LENGTH
        at += step if step > 0 else -step
    return total


cdef int64_t write_text(AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into) except -1 nogil:
    source.check(offset, length)
    write(source._address + offset, length, into)
    return into.size


cdef void write(const uint8_t *source, int64_t length, ByteQueue into) noexcept nogil:
    cdef uint8_t *out = into.end()
    cdef int64_t at = 0
    cdef int64_t run = 0        # start of the bytes that can be copied unchanged
    cdef int64_t step
    cdef uint8_t value
    while at < length:
        value = source[at]
        if value < FIRST_OF_MANY:
            step = 1 if LENGTHS[value] == 1 else 0
        else:
            step = character_length(source + at, length - at)
        if step > 0:
            at += step
            continue
        if at > run:
            memcpy(out, source + run, at - run)
            out += at - run
        if step < 0:
            memcpy(out, b"\xef\xbf\xbd", REPLACEMENT_LENGTH)
            out += REPLACEMENT_LENGTH
            at -= step
        else:
            out = write_escape(out, value)
            at += 1
        run = at
    if at > run:
        memcpy(out, source + run, at - run)
        out += at - run
    into.commit(out - into.end())


cdef inline uint8_t *write_escape(uint8_t *out, uint8_t value) noexcept nogil:
    out[0] = BACKSLASH
    if SHORT_ESCAPES[value]:
        out[1] = SHORT_ESCAPES[value]
        return out + 2
    memcpy(out + 1, b"u00", 3)
    out[4] = 48 + (value >> 4)
    out[5] = (48 if (value & 15) < 10 else 87) + (value & 15)
    return out + ESCAPE_LENGTH


cpdef int64_t append_json_text(AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into) except -1 nogil:
    """Append `length` bytes at `offset` as a JSON string without its quotes; return whether the queue had space."""
    if not into.reserve(text_length(source, offset, length)):
        return 0
    write_text(source, offset, length, into)
    return 1
