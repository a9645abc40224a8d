cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.datagrams cimport SendBatch
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.scanner cimport scan_for_availability


@cython.final
cdef class DatagramRun:
    cdef LogBuffer _log
    cdef int32_t _mtu                   # length of the longest datagram
    cdef int32_t _max_segments          # 1 without GSO
    cdef readonly int32_t padding       # length of the term's last frame, of which only the header is sent
    cdef readonly bint is_blocked       # the next frame does not fit the window

    @cython.locals(
        offset=int32_t, base=int64_t, left=int32_t, scan=int64_t, available=int32_t, run_start=int32_t,
        run_length=int32_t, segment=int32_t, segments=int32_t, total=int32_t, is_closed=bint, scan_limit=int64_t
    )
    cdef int64_t collect(
        self, SendBatch batch, int64_t position, int64_t window, int32_t max_entries
    ) except -1 nogil
