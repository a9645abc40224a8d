from libc.stdint cimport int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue

# Return the length of the bytes as a JSON string without quotes, in bytes.
cdef int64_t text_length(AtomicBuffer source, int64_t offset, int64_t length) except -1 nogil

# Append the bytes as a JSON string without quotes to a queue that has space reserved for it; return the queue's size in
# bytes.
cdef int64_t write_text(AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into) except -1 nogil

cpdef int64_t append_json_text(AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into) except -1 nogil
