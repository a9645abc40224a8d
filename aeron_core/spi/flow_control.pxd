from libc.stdint cimport int32_t, int64_t

from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage


cdef class FlowControl:
    cdef public int32_t retransmit_window_multiple  # a NAK causes retransmission of at most this many initial windows
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
    # Reserved slots for methods of later versions: a plugin compiled against this table keeps working.
    cdef int64_t _reserved_0(self) except? -1 nogil
    cdef int64_t _reserved_1(self) except? -1 nogil
    cdef int64_t _reserved_2(self) except? -1 nogil
    cdef int64_t _reserved_3(self) except? -1 nogil


cdef class PythonFlowControl(FlowControl):
    cdef object _report                  # called once, with the first exception
    cdef bint _is_broken                 # after an exception: `_native` handles all calls
    cdef FlowControl _native             # handles the methods not written in Python
    cdef object _on_status_message       # methods written in Python, or None
    cdef object _on_setup
    cdef object _on_setup_elicited
    cdef object _on_idle
    cdef object _on_error
    cdef object _has_required_receivers
    cdef int64_t _interval_ns            # minimum interval of timed calls
    cdef int64_t _idle_deadline_ns       # of the next call of `on_idle`
    cdef int64_t _required_deadline_ns   # of the next call of `has_required_receivers`
    cdef bint _has_required              # last result of `has_required_receivers`
    cdef object _fail(self, error)
