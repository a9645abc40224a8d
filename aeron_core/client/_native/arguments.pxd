from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t


cdef int refuse(object value, str name, int64_t maximum) except -1
cdef int refuse_session_id(object value, str name) except -1
cdef int refuse_field(object value, str name) except -1

# `value` as a C number: as fast as Cython's own conversion, but the error names the argument and its range.
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

# A session id: as `int32_of`, but negative numbers are as good as others, and the error says so.
cdef inline int32_t session_id_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or number > INT32_MAX or number < INT32_MIN:
        return refuse_session_id(value, name)
    return <int32_t>number

# As `int64_of`, but the range in the error is that of an argument that may be negative.
cdef inline int64_t field_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return refuse_field(value, name)
    return number
