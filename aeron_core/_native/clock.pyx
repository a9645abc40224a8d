"""The clock of an agent: the system's, or a manual one for tests."""

cimport cython


@cython.final
cdef class Clock:
    """The system's clocks or, with `Clock.manual()`, one that stands still until it is advanced.

    Any thread may read it. Only `advance` and `step` move a manual clock.
    """

    @staticmethod
    def manual(*, int64_t now_ns=0, int64_t epoch_ms=1_700_000_000_000):
        """Return a clock that stands at `now_ns` (monotonic) and `epoch_ms` (wall clock); the defaults are invented."""
        cdef Clock clock = Clock.__new__(Clock)
        clock.is_manual = True
        clock._now_ns = now_ns
        clock._epoch_ns = epoch_ms * 1000000 - now_ns
        return clock

    def advance(self, int64_t delta_ns):
        """Move a manual clock forward by `delta_ns` and return its monotonic time in ns.

        Raises TypeError for the system's clock, ValueError for a negative `delta_ns`.
        """
        if not self.is_manual:
            raise TypeError("the system's clock cannot be advanced: use Clock.manual()")
        if delta_ns < 0:
            raise ValueError(f"delta_ns={delta_ns}: must be at least 0 ns, monotonic time never decreases")
        self._now_ns += delta_ns
        return self._now_ns

    def step(self, int64_t delta_ns):
        """Step the wall clock of a manual clock by `delta_ns`, forward or back, and return its epoch time in ns.

        The monotonic time stays. Raises TypeError for the system's clock.
        """
        if not self.is_manual:
            raise TypeError("the system's clock cannot be stepped: use Clock.manual()")
        self._epoch_ns += delta_ns
        return self.epoch_ns()
