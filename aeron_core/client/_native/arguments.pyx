"""Conversion of integer arguments to C; a value out of range raises ValueError with its name and range."""


cdef int refuse(object value, str name, int64_t maximum) except -1:
    raise ValueError(f"{name}={value}: must be from 0 to {maximum}")


cdef int refuse_session_id(object value, str name) except -1:
    raise ValueError(f"{name}={value}: must be from {-2**31} to {2**31 - 1}")


cdef int refuse_field(object value, str name) except -1:
    raise ValueError(f"{name}={value}: must be from {-2**63} to {2**63 - 1}")
