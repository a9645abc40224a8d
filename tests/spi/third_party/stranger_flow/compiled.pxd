from libc.stdint cimport int64_t

from aeron_core.spi.flow_control cimport FlowControl


cdef class CompiledFlowControl(FlowControl):
    cdef readonly int64_t calls
