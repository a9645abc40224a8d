"""What an endpoint counts: endpoints come and go, and each shows it by counters of its own."""

cimport cython


@cython.final
cdef class Tallies:
    """Numbers by their place; those of one place are changed by one thread at a time."""

    def __getitem__(self, int index):
        if not 0 <= index < COUNT:
            raise IndexError(f"index={index}: must be from 0 to {COUNT - 1}")
        return self._values[index]
