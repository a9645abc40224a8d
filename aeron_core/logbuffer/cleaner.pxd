from libc.stdint cimport int64_t

from aeron_core._native cimport wire
from aeron_core.logbuffer.descriptor cimport LogBuffer

cpdef int64_t clean_step(LogBuffer log, int64_t clean_position, int64_t target_position) except -1 nogil
