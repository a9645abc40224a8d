"""What a compiled caller does: cimports, and appends and reads without the GIL."""

from libc.stdint cimport int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.appender cimport ConcurrentAppender
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.cleaner cimport clean_step
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer
from aeron_core.logbuffer.reader cimport TermReader

cdef extern from "<sched.h>" nogil:
    int sched_yield()


def publish(ConcurrentAppender appender, AtomicBuffer data, AtomicBuffer boundaries, int64_t count, int64_t mark):
    """Append all messages in turns by batch, single offer, and claim; return the first result that ends the stream."""
    cdef BufferClaim claim = BufferClaim()
    cdef int64_t first = 0, result, begin, length, turn = 0
    with nogil:
        while first < count:
            turn += 1
            if turn % 8:
                result = appender.offer_batch(data, boundaries, first, min(100, count - first), mark)
            else:
                begin = boundaries.get_i64(first * 8)
                length = boundaries.get_i64(first * 8 + 8) - begin
                if turn % 16 and length <= appender.log.max_payload_length:
                    result = appender.claim(claim, <int>length)
                    if result > 0:
                        claim.log_buffer.copy_from(claim.payload_offset(), data, begin, length)
                        claim.set_reserved_value(mark)
                        claim.commit()
                else:
                    result = appender.offer(data, begin, <int>length, mark)
                result = 1 if result > 0 else result
            if result > 0:
                first += result
            elif result == -2 or result == -3:
                sched_yield()
            else:
                break
    return result


def consume(TermReader reader, AtomicBuffer limit, int64_t window, BatchBuffer batch, int64_t position, int64_t cleaned):
    """Read one batch, clean a term behind it, and raise the limit; return how far was cleaned."""
    cdef int64_t target
    with nogil:
        reader.read_batch(position, 9223372036854775807, batch.capacity, batch)
        target = reader.position - reader.log.term_length
        while cleaned < target:
            cleaned = clean_step(reader.log, cleaned, target)
        limit.put_i64_release(0, reader.position + window)
        if batch.count == 0:
            sched_yield()
    return cleaned
