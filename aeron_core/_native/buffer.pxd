cimport cython
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memmove, memset

cdef extern from "atomics.h" nogil:
    int8_t ac_get_i8(const uint8_t *p) noexcept
    void ac_put_i8(uint8_t *p, int8_t v) noexcept
    uint8_t ac_get_u8(const uint8_t *p) noexcept
    void ac_put_u8(uint8_t *p, uint8_t v) noexcept
    int16_t ac_get_i16(const uint8_t *p) noexcept
    void ac_put_i16(uint8_t *p, int16_t v) noexcept
    uint16_t ac_get_u16(const uint8_t *p) noexcept
    void ac_put_u16(uint8_t *p, uint16_t v) noexcept
    int32_t ac_get_i32(const uint8_t *p) noexcept
    void ac_put_i32(uint8_t *p, int32_t v) noexcept
    int64_t ac_get_i64(const uint8_t *p) noexcept
    void ac_put_i64(uint8_t *p, int64_t v) noexcept
    int32_t ac_get_i32_acquire(const uint8_t *p) noexcept
    void ac_put_i32_release(uint8_t *p, int32_t v) noexcept
    int64_t ac_get_i64_acquire(const uint8_t *p) noexcept
    void ac_put_i64_release(uint8_t *p, int64_t v) noexcept
    uint8_t ac_get_u8_acquire(const uint8_t *p) noexcept
    void ac_put_u8_release(uint8_t *p, uint8_t v) noexcept
    int32_t ac_get_and_add_i32(uint8_t *p, int32_t v) noexcept
    int ac_compare_and_set_i32(uint8_t *p, int32_t expected, int32_t desired) noexcept
    int64_t ac_get_and_add_i64(uint8_t *p, int64_t v) noexcept
    int ac_compare_and_set_i64(uint8_t *p, int64_t expected, int64_t desired) noexcept
    void ac_fence_acquire() noexcept
    void ac_fence_release() noexcept

# Return value of the 32-bit and 64-bit getters that may signal an exception (`except?`). It is unlikely in any field of
# the formats, so that callers rarely have to check whether an exception was raised.
cdef enum:
    FAULT = -1985229329

cdef int raise_out_of_bounds(int64_t offset, int64_t length, int64_t capacity) except -1 nogil


@cython.final
cdef class AtomicBuffer:
    cdef uint8_t *_address          # never NULL while capacity > 0
    cdef readonly int64_t capacity  # bytes
    cdef int64_t _writable          # capacity, or 0 if the memory is read-only
    cdef object _owner              # keeps the memory alive

    @staticmethod
    cdef AtomicBuffer wrap(uint8_t *address, int64_t capacity, object owner, bint read_only)

    # Return a pointer to `length` bytes at `offset`, for calls such as memcpy; raise IndexError if they are out of
    # range. The pointer is valid only while this object, or a view of it, exists.
    cdef inline uint8_t *at(self, int64_t offset, int64_t length) except NULL nogil:
        if offset < 0 or length < 0 or offset > self.capacity - length:
            raise_out_of_bounds(offset, length, self.capacity)
            return NULL
        return self._address + offset

    cpdef inline int check(self, int64_t offset, int64_t length) except -1 nogil:
        if offset < 0 or length < 0 or offset > self.capacity - length:
            return raise_out_of_bounds(offset, length, self.capacity)
        return 0

    cdef inline int check_writable(self, int64_t offset, int64_t length) except -1 nogil:
        if offset < 0 or length < 0 or offset > self._writable - length:
            return raise_out_of_bounds(offset, length, self._writable)
        return 0

    # Copy `length` bytes at `source`, which is outside the buffer.
    cdef inline int copy_in(self, int64_t offset, const uint8_t *source, int64_t length) except -1 nogil:
        self.check_writable(offset, length)
        memcpy(self._address + offset, source, length)
        return 0

    cpdef inline int8_t get_i8(self, int64_t offset) except? -85 nogil:
        self.check(offset, 1)
        return ac_get_i8(self._address + offset)

    cpdef inline int put_i8(self, int64_t offset, int8_t value) except -1 nogil:
        self.check_writable(offset, 1)
        ac_put_i8(self._address + offset, value)
        return 0

    cpdef inline uint8_t get_u8(self, int64_t offset) except? 171 nogil:
        self.check(offset, 1)
        return ac_get_u8(self._address + offset)

    cpdef inline int put_u8(self, int64_t offset, uint8_t value) except -1 nogil:
        self.check_writable(offset, 1)
        ac_put_u8(self._address + offset, value)
        return 0

    cpdef inline int16_t get_i16(self, int64_t offset) except? -21555 nogil:
        self.check(offset, 2)
        return ac_get_i16(self._address + offset)

    cpdef inline int put_i16(self, int64_t offset, int16_t value) except -1 nogil:
        self.check_writable(offset, 2)
        ac_put_i16(self._address + offset, value)
        return 0

    cpdef inline uint16_t get_u16(self, int64_t offset) except? 43981 nogil:
        self.check(offset, 2)
        return ac_get_u16(self._address + offset)

    cpdef inline int put_u16(self, int64_t offset, uint16_t value) except -1 nogil:
        self.check_writable(offset, 2)
        ac_put_u16(self._address + offset, value)
        return 0

    cpdef inline int32_t get_i32(self, int64_t offset) except? -1985229329 nogil:
        self.check(offset, 4)
        return ac_get_i32(self._address + offset)

    cpdef inline int put_i32(self, int64_t offset, int32_t value) except -1 nogil:
        self.check_writable(offset, 4)
        ac_put_i32(self._address + offset, value)
        return 0

    cpdef inline int64_t get_i64(self, int64_t offset) except? -1985229329 nogil:
        self.check(offset, 8)
        return ac_get_i64(self._address + offset)

    cpdef inline int put_i64(self, int64_t offset, int64_t value) except -1 nogil:
        self.check_writable(offset, 8)
        ac_put_i64(self._address + offset, value)
        return 0

    cpdef inline uint8_t get_u8_acquire(self, int64_t offset) except? 171 nogil:
        self.check(offset, 1)
        return ac_get_u8_acquire(self._address + offset)

    cpdef inline int put_u8_release(self, int64_t offset, uint8_t value) except -1 nogil:
        self.check_writable(offset, 1)
        ac_put_u8_release(self._address + offset, value)
        return 0

    cpdef inline int32_t get_i32_acquire(self, int64_t offset) except? -1985229329 nogil:
        self.check(offset, 4)
        return ac_get_i32_acquire(self._address + offset)

    cpdef inline int put_i32_release(self, int64_t offset, int32_t value) except -1 nogil:
        self.check_writable(offset, 4)
        ac_put_i32_release(self._address + offset, value)
        return 0

    cpdef inline int64_t get_i64_acquire(self, int64_t offset) except? -1985229329 nogil:
        self.check(offset, 8)
        return ac_get_i64_acquire(self._address + offset)

    cpdef inline int put_i64_release(self, int64_t offset, int64_t value) except -1 nogil:
        self.check_writable(offset, 8)
        ac_put_i64_release(self._address + offset, value)
        return 0

    cpdef inline int32_t get_and_add_i32(self, int64_t offset, int32_t delta) except? -1985229329 nogil:
        self.check_writable(offset, 4)
        return ac_get_and_add_i32(self._address + offset, delta)

    cpdef inline bint compare_and_set_i32(
        self, int64_t offset, int32_t expected, int32_t desired
    ) except -1 nogil:
        self.check_writable(offset, 4)
        return ac_compare_and_set_i32(self._address + offset, expected, desired)

    cpdef inline int64_t get_and_add_i64(self, int64_t offset, int64_t delta) except? -1985229329 nogil:
        self.check_writable(offset, 8)
        return ac_get_and_add_i64(self._address + offset, delta)

    cpdef inline bint compare_and_set_i64(
        self, int64_t offset, int64_t expected, int64_t desired
    ) except -1 nogil:
        self.check_writable(offset, 8)
        return ac_compare_and_set_i64(self._address + offset, expected, desired)

    # Store `value` if it is larger; return whether it was, 1 or 0. Only one thread may write the field.
    cpdef inline int propose_max_i64_release(self, int64_t offset, int64_t value) except -1 nogil:
        self.check_writable(offset, 8)
        if ac_get_i64(self._address + offset) < value:
            ac_put_i64_release(self._address + offset, value)
            return 1
        return 0

    cpdef inline int set_memory(self, int64_t offset, int64_t length, uint8_t value) except -1 nogil:
        self.check_writable(offset, length)
        memset(self._address + offset, value, length)
        return 0

    cpdef inline int copy_from(
        self, int64_t offset, AtomicBuffer source, int64_t source_offset, int64_t length
    ) except -1 nogil:
        self.check_writable(offset, length)
        source.check(source_offset, length)
        memmove(self._address + offset, source._address + source_offset, length)
        return 0
