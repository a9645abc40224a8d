"""Counters that a client owns: int64 values that every process that maps cnc.dat can read.

Not here: reading other counters (`Aeron.counters_reader`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.errors import ClosedError

if TYPE_CHECKING:
    from aeron_core.client.owner import ResourceOwner
    from aeron_core.concurrent.counters import CountersReader


class Counter:
    """A counter that a client owns: one writer at a time, except for `get_and_add`.

    Writes raise ClosedError once it is closed. A static counter outlives its client; only the end of the driver
    frees it.
    """

    def __init__(
        self,
        owner: ResourceOwner,
        counters: CountersReader,
        counter_id: int,
        registration_id: int,
        *,
        is_static: bool = False,
    ) -> None:
        self.id = counter_id
        self.registration_id = registration_id
        self.is_static = is_static
        self.is_closed = False
        self._owner = owner
        self._counters = counters
        self._value = counters.counter(counter_id)

    @property
    def label(self) -> str:
        """The label, a description; that of another counter if the driver has reused the id."""
        return self._counters.label(self.id)

    @property
    def type_id(self) -> int:
        """The type id, an int32 that identifies what it counts; that of another counter if the id was reused."""
        return self._counters.type_id(self.id)

    @property
    def key(self) -> bytes:
        """All 112 bytes of the key; that of another counter if the driver has reused the id."""
        return self._counters.key(self.id)

    @property
    def is_allocated(self) -> bool:
        """Whether the driver has a counter with this id: this one or, after it was freed, another one."""
        return self._counters.state(self.id) == wire.COUNTER_STATE_ALLOCATED

    @property
    def value(self) -> int:
        """The value, an int64. Setting is a release store, reading an acquire load.

        Once closed, setting raises ClosedError, and reading may return the value of a counter that reuses the id.
        """
        return self._value.get_acquire()

    @value.setter
    def value(self, value: int) -> None:
        self._check_open()
        self._value.set_release(value)

    def increment(self) -> int:
        """Add one as the only writer and return the previous value."""
        self._check_open()
        return self._value.increment_release()

    def get_and_add(self, delta: int) -> int:
        """Add `delta` atomically, as one of several writers, and return the previous value."""
        self._check_open()
        return self._value.get_and_add(delta)

    def propose_max(self, value: int) -> bool:
        """Raise the counter to `value` as the only writer; return whether it was lower before."""
        self._check_open()
        return self._value.propose_max_release(value)

    def close(self) -> None:
        """Free the counter; a static one stays allocated. Closing twice does nothing.

        Raises ClientError if the driver's command ring stays full for 10 ms; the counter stays open.
        """
        # A static counter is not a resource of this client: its registration id, which the program chose, may be that
        # of another resource.
        if not self.is_static:
            self._owner.close_counter(self.registration_id)
        self.mark_closed()

    def mark_closed(self) -> None:
        """Reject writes from now on. For the client's conductor."""
        self.is_closed = True

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"value={self.value}"
        return f"Counter(id={self.id}, registration_id={self.registration_id}, {state})"

    def _check_open(self) -> None:
        # The driver reuses the id of a freed counter: a write would change the counter of another owner.
        if self.is_closed:
            self._owner.check_open()
            raise ClosedError(
                f"counter {self.id} (registration {self.registration_id}) is closed: add a new counter"
            )
