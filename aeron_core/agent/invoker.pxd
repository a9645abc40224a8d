from aeron_core.agent.agent cimport Agent


cdef class AgentInvoker:
    cdef Agent _agent
    cdef object _on_error
    cdef bint _is_started
    cdef bint _is_closed
