from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t


cdef int refuse(object value, str name, int64_t maximum) except -1
cdef int refuse_session_id(object value, str name) except -1
cdef int refuse_field(object value, str name) except -1

# Return `value` as a C number, as fast as Cython's own conversion. The error of a number that does not fit names the
# argument and a range from 0, although negative numbers that fit are returned, too.
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

# Return a session id: as `int32_of`, but the range in the error includes negative numbers.
cdef inline int32_t session_id_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or number > INT32_MAX or number < INT32_MIN:
        return refuse_session_id(value, name)
    return <int32_t>number

# Do the same as `int64_of`; the range in the error includes negative numbers.
cdef inline int64_t field_of(object value, str name) except? -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return refuse_field(value, name)
    return number
