"""Tallies of a socket. Its endpoints, which are opened and closed independently, publish them as counters."""

cimport cython


@cython.final
cdef class Tallies:
    """Numbers by index, as named in `tallies.pxd`; each is changed by one thread at a time.

    Only MEMORY, BYTES_IN and BYTES_OUT are bytes. Indexing in Python raises IndexError outside 0 to COUNT - 1.
    """

    def __getitem__(self, int index):
        if not 0 <= index < COUNT:
            raise IndexError(f"index={index}: must be from 0 to {COUNT - 1}")
        return self._values[index]
