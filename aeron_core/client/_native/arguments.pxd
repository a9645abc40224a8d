from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t


cdef int refuse(object value, str name, int64_t maximum) except -1
cdef int refuse_session_id(object value, str name) except -1
cdef int refuse_field(object value, str name) except -1

# Return `value` as a C integer, as fast as Cython's own conversion; raise TypeError unless it is an integer, ValueError
# if it does not fit. The error names the argument and a range from 0, although negative numbers that fit are returned.
cdef inline int64_t int64_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return refuse(value, name, 0x7FFFFFFFFFFFFFFF)
    return number

cdef inline int32_t int32_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or number > INT32_MAX or number < INT32_MIN:
        return refuse(value, name, INT32_MAX)
    return <int32_t>number

# Return a session id and raise as `int32_of`; the range in the error includes negative numbers.
cdef inline int32_t session_id_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or number > INT32_MAX or number < INT32_MIN:
        return refuse_session_id(value, name)
    return <int32_t>number

# Return any 64-bit integer and raise as `int64_of`; the range in the error includes negative numbers.
cdef inline int64_t field_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return refuse_field(value, name)
    return number
