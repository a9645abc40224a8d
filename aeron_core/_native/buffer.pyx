"""Bounds-checked, ordered access to memory that several processes share.

Every access checks its range against the capacity first: an offset received from a peer can raise, but never
reach memory outside the buffer. Plain accesses may be unaligned; those named acquire, release, add or compare must
be aligned to their size, as all fields of the shared formats are.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, Py_buffer, PyBuffer_FillInfo, PyObject_GetBuffer, PyBuffer_Release
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free
from posix.stdlib cimport posix_memalign

cdef enum:
    CACHE_LINE_LENGTH = 64


cdef int raise_out_of_bounds(int64_t offset, int64_t length, int64_t capacity) except -1 nogil:
    with gil:
        # A write to a read-only buffer passes the capacity 0.
        hint = "" if capacity else "; the buffer is empty, or it is read-only and cannot be written"
        raise IndexError(
            f"{length} bytes at offset {offset}: must lie within the {capacity} bytes that may be accessed{hint}"
        )


cdef class _Memory:
    """Zeroed memory of this process, freed with its last reference."""

    cdef void *_address

    def __cinit__(self, int64_t length):
        if posix_memalign(&self._address, CACHE_LINE_LENGTH, max(length, 1)) != 0:
            self._address = NULL
            raise MemoryError(f"cannot allocate {length} bytes: free memory, or raise the memory limit of the process")
        memset(self._address, 0, length)

    def __dealloc__(self):
        free(self._address)


cdef class _Export:
    """Keeps the buffer export of a Python object open."""

    cdef Py_buffer _view

    def __cinit__(self, object exporter, bint writable):
        PyObject_GetBuffer(exporter, &self._view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self._view)


@cython.final
cdef class AtomicBuffer:
    """A range of memory. `AtomicBuffer(bytearray)` wraps, `allocate` creates, `view` narrows; none of them copies.

    Offsets and lengths are bytes. Methods raise IndexError for a range outside the buffer, and for a write if it is
    read-only. Any thread may use it, with the memory order that the name of a method states.
    """

    def __init__(self, object exporter):
        """Wrap a contiguous buffer; writes to a read-only one (such as `bytes`) raise IndexError.

        Raises TypeError for an object without the buffer protocol, BufferError for a buffer that is not contiguous.
        """
        cdef bint writable = not memoryview(exporter).readonly
        cdef _Export export = _Export(exporter, writable)
        self._address = <uint8_t *>export._view.buf
        self.capacity = export._view.len
        self._writable = self.capacity if writable else 0
        self._owner = export

    @staticmethod
    cdef AtomicBuffer wrap(uint8_t *address, int64_t capacity, object owner, bint read_only):
        cdef AtomicBuffer buffer = AtomicBuffer.__new__(AtomicBuffer)
        buffer._address = address
        buffer.capacity = capacity
        buffer._writable = 0 if read_only else capacity
        buffer._owner = owner
        return buffer

    @staticmethod
    def allocate(int64_t length):
        """Return `length` zeroed bytes of process memory, aligned to 64 bytes; raise ValueError if it is negative."""
        if length < 0:
            raise ValueError(f"length={length}: must be at least 0 bytes")
        cdef _Memory memory = _Memory(length)
        return AtomicBuffer.wrap(<uint8_t *>memory._address, length, memory, False)

    @property
    def read_only(self):
        """Whether writes raise IndexError; False for an empty buffer."""
        return self._writable == 0 and self.capacity > 0

    def view(self, int64_t offset, int64_t length):
        """Return a buffer over `length` bytes of the same memory at `offset`; it keeps the memory alive."""
        self.check(offset, length)
        return AtomicBuffer.wrap(self._address + offset, length, self._owner, self._writable == 0)

    def get_bytes(self, int64_t offset, int64_t length):
        """Return a copy of `length` bytes at `offset`."""
        self.check(offset, length)
        return PyBytes_FromStringAndSize(<char *>self._address + offset, length)

    def put_bytes(self, int64_t offset, object source):
        """Copy all bytes of a contiguous Python buffer to `offset` and return how many."""
        cdef _Export export = _Export(source, False)
        self.check_writable(offset, export._view.len)
        memmove(self._address + offset, export._view.buf, export._view.len)
        return export._view.len

    def put_buffer(self, int64_t offset, AtomicBuffer source not None, int64_t source_offset, int64_t length):
        """Copy `length` bytes of another buffer to `offset`; the ranges may overlap."""
        self.copy_from(offset, source, source_offset, length)

    def __len__(self):
        return self.capacity

    def __getbuffer__(self, Py_buffer *view, int flags):
        # An empty range has no bytes to protect, and must accept `view[:] = b""` like any other.
        PyBuffer_FillInfo(
            view, self, self._address, self.capacity, self._writable == 0 and self.capacity > 0, flags
        )

    def __repr__(self):
        return f"AtomicBuffer(capacity={self.capacity}{', read-only' if self.read_only else ''})"


def fence_acquire() -> None:
    """Order earlier loads before all later loads and stores."""
    ac_fence_acquire()


def fence_release() -> None:
    """Order all earlier loads and stores before later stores."""
    ac_fence_release()
