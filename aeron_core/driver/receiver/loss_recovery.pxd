cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions
from aeron_core._native.clock cimport Clock
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.concurrent.loss_writer cimport StreamLosses
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.driver.receiver.image_connections cimport ImageConnections
from aeron_core.driver.receiver.loss_detector cimport LossDetector
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.gap_filler cimport try_fill_gap
from aeron_core.protocol.frames.nak cimport Nak


@cython.final
cdef class LossRecovery:
    cdef readonly LossDetector detector
    cdef LogBuffer _log
    cdef StreamLosses _losses               # entry of the stream in the loss report
    cdef Clock _clock
    cdef ImageConnections _connections
    cdef SystemCounters _counters
    cdef AtomicCounter _image_naks_sent     # `naks_sent` of `_counters` is that of all images
    cdef bint _is_reliable                  # False: gaps are filled with padding, not requested
    cdef int64_t _counted_end               # position up to which lost bytes were recorded
    cdef Nak _nak                           # frame to send

    @cython.locals(start=int64_t, sent=int32_t)
    cdef int32_t recover(self, int64_t now_ns, bint is_draining) except -1 nogil
    cdef int32_t _record(self, int64_t start, int64_t end) except -1 nogil
