from aeron_core._native cimport wire
from aeron_core.spi.flow_control cimport FlowControl


cdef class MaxFlowControl(FlowControl):
    pass


cdef class UnicastFlowControl(FlowControl):
    pass
