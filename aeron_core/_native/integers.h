/* A Python int object that is overwritten unless a program kept it: an offer then allocates nothing for its result.
 *
 * An int that only `*last` refers to is invisible to every program, so that no program sees it change. It is created
 * with all digits that an int64_t may need. The layout of ints (Include/cpython/longintrepr.h) may change in any version
 * of Python: with one newer than the newest tested, each call creates a new int. */
#ifndef AERON_CORE_INTEGERS_H
#define AERON_CORE_INTEGERS_H

#include <Python.h>
#include <stdint.h>

#define AC_NEWEST_TESTED_PYTHON 0x030E /* 3.14 */

#if (PY_VERSION_HEX >> 16) <= AC_NEWEST_TESTED_PYTHON && PyLong_SHIFT == 30 && !defined(Py_GIL_DISABLED)

static inline PyObject *ac_reuse_int(PyObject **last, int64_t value) {
    PyObject *number = *last;
    Py_ssize_t digits;
    digit *to;
    /* Small ints are shared; negative results, the reasons for a refusal, are among them. */
    if (value < 4096) return PyLong_FromLongLong(value);
    if (number == NULL || Py_REFCNT(number) != 1) {
        Py_XSETREF(*last, PyLong_FromLongLong(INT64_MAX));
        number = *last;
        if (number == NULL) return NULL;
    }
    digits = (value >> 60) ? 3 : (value >> 30) ? 2 : 1;
#if PY_VERSION_HEX >= 0x030C0000
    ((PyLongObject *)number)->long_value.lv_tag = (uintptr_t)digits << 3;
    to = ((PyLongObject *)number)->long_value.ob_digit;
#else
    Py_SET_SIZE(number, digits);
    to = ((PyLongObject *)number)->ob_digit;
#endif
    to[0] = (digit)(value & PyLong_MASK);
    to[1] = (digit)((value >> 30) & PyLong_MASK);
    to[2] = (digit)(value >> 60);
    Py_INCREF(number);
    return number;
}

#else

static inline PyObject *ac_reuse_int(PyObject **last, int64_t value) { return PyLong_FromLongLong(value); }

#endif
#endif
