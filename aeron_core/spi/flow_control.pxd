from libc.stdint cimport int32_t, int64_t

from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage


cdef class FlowControl:
    cdef public int32_t retransmit_window_multiple  # receiver windows that one NAK may have sent again
    cdef int64_t on_status_message(
        self, StatusMessage sm, int64_t position, int64_t limit, int64_t now_ns
    ) except? -1 nogil
    cdef int64_t on_setup(self, Setup setup, int64_t limit, int64_t now_ns) except? -1 nogil
    cdef int32_t on_setup_elicited(self, StatusMessage sm, int64_t now_ns) except -1 nogil
    cdef int64_t on_idle(
        self, int64_t limit, int64_t sender_position, bint is_end_of_stream, int64_t now_ns
    ) except? -1 nogil
    cdef int32_t on_error(self, ErrorFrame error, int64_t now_ns) except -1 nogil
    cdef bint has_required_receivers(self, int64_t now_ns) except -1 nogil
    # Room for methods of later versions: a plugin that was compiled against this table keeps running.
    cdef int64_t _reserved_0(self) except? -1 nogil
    cdef int64_t _reserved_1(self) except? -1 nogil
    cdef int64_t _reserved_2(self) except? -1 nogil
    cdef int64_t _reserved_3(self) except? -1 nogil


cdef class PythonFlowControl(FlowControl):
    cdef object _report                  # called once with the first exception
    cdef bint _is_broken                 # after an exception: what is compiled does all
    cdef FlowControl _native             # does what is not written in Python
    cdef object _on_status_message       # methods written in Python, None where there is none
    cdef object _on_setup
    cdef object _on_setup_elicited
    cdef object _on_idle
    cdef object _on_error
    cdef object _has_required_receivers
    cdef int64_t _interval_ns            # between two calls by the clock
    cdef int64_t _idle_deadline_ns       # of the next call of `on_idle`
    cdef int64_t _required_deadline_ns   # of the next call of `has_required_receivers`
    cdef bint _has_required              # its last answer
    cdef object _fail(self, error)
