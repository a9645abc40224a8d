from libc.stdint cimport int32_t, int64_t


cdef class RebuildState:
    cdef public int64_t now_ns
    cdef public int64_t consumption_position      # of the slowest subscriber
    cdef public int64_t last_sm_position          # of the last status message scheduled
    cdef public int64_t hwm_position              # highest position received
    cdef public int64_t rebuild_position_before
    cdef public int64_t rebuild_position_after
    cdef public bint loss_occurred
    cdef public bint force_status_message         # output: send a status message now


cdef class CongestionControl:
    cdef int32_t on_track_rebuild(self, RebuildState state) except? -1 nogil
    cdef int32_t on_rtt_measurement_sent(self, int64_t now_ns) except -1 nogil
    cdef int32_t on_rtt_measurement(self, int64_t now_ns, int64_t rtt_ns) except -1 nogil
    cdef bint should_measure_rtt(self, int64_t now_ns) except -1 nogil
    cdef int32_t initial_window_length(self) except? -1 nogil
    cdef int32_t max_window_length(self) except? -1 nogil
    # Reserved slots for methods of later versions: a plugin compiled against this table keeps working.
    cdef int64_t _reserved_0(self) except? -1 nogil
    cdef int64_t _reserved_1(self) except? -1 nogil
    cdef int64_t _reserved_2(self) except? -1 nogil
    cdef int64_t _reserved_3(self) except? -1 nogil


cdef class PythonCongestionControl(CongestionControl):
    cdef object _report                   # called once, with the first exception
    cdef bint _is_broken                  # after an exception: the window no longer changes
    cdef int32_t _window                  # the last result, in bytes
    cdef int32_t _initial_window
    cdef int32_t _max_window
    cdef CongestionControl _native        # handles the methods not written in Python
    cdef object _on_track_rebuild         # methods written in Python, or None
    cdef object _on_rtt_measurement_sent
    cdef object _on_rtt_measurement
    cdef object _should_measure_rtt
    cdef int64_t _interval_ns             # minimum interval of timed calls
    cdef int64_t _rebuild_deadline_ns     # of the next call of `on_track_rebuild`
    cdef int64_t _measure_deadline_ns     # of the next call of `should_measure_rtt`
    cdef int64_t _unreported_since            # rebuild position at the first skipped call of `on_track_rebuild`, -1 if none
    cdef bint _has_unreported_loss
    cdef object _fail(self, error)


cpdef int32_t initial_window_length_of(CongestionControl strategy) except? -1
