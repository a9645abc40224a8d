"""Pseudo-random numbers without the GIL, repeatable by seed: xorshift64*. Not for secrets.

Source: https://en.wikipedia.org/wiki/Xorshift#xorshift*
"""

cimport cython


@cython.final
cdef class Xorshift:
    """A generator of random numbers from 0 to 2^53 - 1; used by one thread. `seed`: any int, the low 64 bits count."""

    def __cinit__(self, object seed):
        # Spread small seeds over all bits (the finalizer of splitmix64), so that their first numbers differ, too.
        cdef uint64_t state = seed & 0xFFFFFFFFFFFFFFFF
        state = (state ^ (state >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ULL
        state = (state ^ (state >> 27)) * <uint64_t>0x94D049BB133111EBULL
        state ^= state >> 31
        self._state = state if state != 0 else 1
