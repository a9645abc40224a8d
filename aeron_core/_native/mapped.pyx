"""Memory mapped from a file descriptor, unmapped with its last reference.

There is no explicit unmap: a `memoryview` that a program kept must never refer to unmapped memory.
"""

from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport strerror
from posix.mman cimport MAP_FAILED, MAP_SHARED, MS_SYNC, PROT_READ, PROT_WRITE, mmap, msync, munmap

from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "<sys/mman.h>" nogil:
    int MAP_POPULATE


cdef class MappedRegion:
    """The mapping behind an AtomicBuffer; it ends with the last buffer that refers to it."""

    def __cinit__(self, int fd, int64_t length, bint read_only, bint populate):
        cdef int protection = PROT_READ if read_only else PROT_READ | PROT_WRITE
        cdef int flags = MAP_SHARED | (MAP_POPULATE if populate else 0)
        self._address = mmap(NULL, length, protection, flags, fd, 0)
        if self._address == MAP_FAILED:
            self._address = NULL
            code = errno
            raise OSError(
                code,
                f"cannot map {length} bytes: {strerror(code).decode()}; check the mode of the descriptor and the limits "
                f"of memory, ulimit -v and vm.max_map_count",
            )
        self._length = length

    def __dealloc__(self):
        if self._address != NULL:
            munmap(self._address, self._length)


def map_fd(int fd, int64_t length, *, bint read_only=False, bint populate=False):
    """Return an AtomicBuffer over the first `length` bytes of an open file, shared with other processes.

    `fd` may be closed afterwards. The file must have at least `length` bytes: an access past its end kills the process
    with SIGBUS. Raises ValueError if `length` is below 1, OSError if the system refuses the mapping.
    """
    if length <= 0:
        raise ValueError(f"length={length}: must be at least 1 byte, an empty file cannot be mapped")
    cdef MappedRegion region = MappedRegion(fd, length, read_only, populate)
    return AtomicBuffer.wrap(<uint8_t *>region._address, length, region, read_only)


def synchronize(AtomicBuffer buffer not None):
    """Write the whole mapping behind a buffer back to its file, and wait for it; raise OSError if that fails.

    Does nothing for memory that is not mapped from a file.
    """
    cdef MappedRegion region
    if isinstance(buffer._owner, MappedRegion):
        region = buffer._owner
        if msync(region._address, region._length, MS_SYNC) != 0:
            code = errno
            raise OSError(
                code,
                f"cannot write {region._length} bytes of a mapping to their file: {strerror(code).decode()}; check the "
                f"device of the file",
            )
