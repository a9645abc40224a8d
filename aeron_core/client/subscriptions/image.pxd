cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.client._native cimport arguments
from aeron_core.client._native.views cimport ViewFactory
from aeron_core.client.subscriptions.header cimport Header
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer
from aeron_core.logbuffer.reader cimport TermReader


@cython.final
cdef class Image:
    cdef readonly int32_t session_id       # session id of its publication
    cdef readonly int64_t correlation_id   # id of the image in the driver
    cdef readonly int64_t join_position    # position at which the subscription began to read
    cdef readonly str source_identity      # address:port, or aeron:ipc
    cdef readonly object subscription      # the subscription of this image
    cdef readonly bint is_closed           # whether it was closed
    cdef LogBuffer _log
    cdef AtomicBuffer _buffer              # of the log
    cdef AtomicCounter _position           # written by this image only, read by the driver
    cdef Header _header                    # header of the fragment that is being delivered
    cdef ViewFactory _views
    cdef TermReader _reader
    cdef int64_t _final_position           # from here on: values at the close
    cdef int64_t _final_end_of_stream_position
    cdef bint _final_is_revoked

    cdef int64_t _current_position(self) except? -1985229329
    @cython.locals(position=int64_t, begin=int64_t, frame=int64_t, fragments=int32_t, header=Header)
    cdef int32_t poll_fragments(self, object handler, int32_t fragment_limit, int64_t limit_position) except -1
    @cython.locals(position=int64_t, begin=int64_t, frame=int64_t, fragments=int32_t, header=Header)
    cdef int32_t poll_controlled(self, object handler, int32_t fragment_limit, int64_t limit_position) except -1
    @cython.locals(position=int64_t, length=int64_t, frame=int64_t)
    cdef int64_t poll_block(self, object handler, int64_t length_limit) except -1
    @cython.locals(term_length=int64_t, current=int64_t, frame=int64_t, length=int64_t)
    cdef object peek_block(self, int64_t position, int64_t length_limit)
    @cython.locals(current=int64_t, limit=int64_t)
    cdef int move_position(self, int64_t position) except -1
    @cython.locals(position=int64_t, begin=int64_t, first=int64_t)
    cdef int64_t poll_into(self, BatchBuffer batch, int64_t max_messages) except -1
    cdef object _view_of_frame(self, int64_t frame)
    cdef int _publish(self, int64_t begin, int64_t position) except -1
