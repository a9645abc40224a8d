"""Counter of a resilient client: a `Counter` that keeps its value while its driver is gone.

While there is no driver, reads and writes use a value in this process, which the re-added counter continues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from aeron_core.client.command_arguments import int64_of
from aeron_core.client.counters import Counter
from aeron_core.errors import ClosedError
from aeron_core.resilient.resource import ResilientResource

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.registrations import Registration
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.resilient.owner import ResilientOwner

_RANGE = 1 << 64
_HALF = 1 << 63


class ResilientCounter(ResilientResource[Counter]):
    """A `Counter` that is re-added with its value after the driver or the client was lost.

    One writer at a time, except for `get_and_add`. A static counter keeps the value that it has in the driver, unless
    that is 0, as after a restart, or the program wrote to it while the driver was gone.
    """

    def __init__(  # noqa: PLR0913 - the fields of the command
        self,
        owner: ResilientOwner,
        current: Counter,
        reader: CountersReader,
        *,
        type_id: int,
        key: bytes,
        label: str,
    ) -> None:
        super().__init__(owner, current)
        self.is_static = current.is_static
        self.type_id = type_id
        self.label = label
        self._key = key
        self._reader = reader
        # The value after the last write of this process, for a counter that the driver has given to another owner.
        self._last = current.value
        # The value while detached; None while attached, and until the first use after a loss.
        self._kept: int | None = None
        self._is_changed = False

    @property
    def id(self) -> int:
        """The id of the counter in the driver; another one after each restart."""
        return self._current.id

    @property
    def key(self) -> bytes:
        """All 112 bytes of the key."""
        return self._key.ljust(112, b"\0")

    @property
    def is_allocated(self) -> bool:
        """Whether the driver has the counter; False while the driver is gone."""
        return self.is_attached and self._current.is_allocated

    @property
    def value(self) -> int:
        """The value, an int64; while the driver is gone, the one that the re-added counter continues.

        Once closed, setting raises ClosedError, and reading returns the last value.
        """
        current = self._current
        if not current.is_closed:
            return current.value
        with self._lock:
            return self._detached_value() if current is self._current else self._current.value

    @value.setter
    def value(self, value: int) -> None:
        try:
            self._current.value = value
        except ClosedError:
            self._change(lambda _: int64_of(value, "value"))
        else:
            self._last = value

    def increment(self) -> int:
        """Add one as the only writer and return the previous value."""
        try:
            previous = self._current.increment()
        except ClosedError:
            return self._change(lambda value: value + 1)
        self._last = previous + 1
        return previous

    def get_and_add(self, delta: int) -> int:
        """Add `delta` atomically, as one of several writers, and return the previous value."""
        try:
            previous = self._current.get_and_add(delta)
        except ClosedError:
            return self._add_detached(delta)
        self._last = previous + delta
        return previous

    def propose_max(self, value: int) -> bool:
        """Raise the counter to `value` as the only writer; return whether it was lower before."""
        try:
            is_raised = self._current.propose_max(value)
        except ClosedError:
            return self._change(lambda kept: max(kept, value)) < value
        if is_raised:
            self._last = value
        return is_raised

    def submit(self, aeron: Aeron) -> Registration[Counter]:
        """Send the command that adds it to another plain client. For the supervisor."""
        self._next_reader = aeron.counters_reader
        if self.is_static:
            return aeron.add_static_counter_async(
                self.type_id, self._current.registration_id, self._key, self.label
            )
        return aeron.add_counter_async(self.type_id, self._key, self.label)

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"value={self.value}"
        return f"ResilientCounter(id={self.id}, registration_id={self.registration_id}, {state})"

    def _replace(self, current: Counter) -> None:
        value = self._detached_value()
        if not self.is_static or self._is_changed or current.value == 0:
            current.value = value
        self._last = current.value
        self._reader = self._next_reader
        self._kept, self._is_changed = None, False
        self._current = current

    def _add_detached(self, delta: int) -> int:
        with self._lock:
            # Attached again since the caller's write failed: other threads, and processes, add at the same time.
            if not self._current.is_closed:
                with suppress(ClosedError):
                    return self._current.get_and_add(delta)
            return self._change(lambda value: value + delta)

    def _change(self, change: Callable[[int], int]) -> int:
        """Change the value of a detached counter, and return the previous one; raise ClosedError once closed."""
        with self._lock:
            self._check_open()
            current = self._current
            # Attached again since the caller's write failed, unless it is lost again.
            previous = self._detached_value() if current.is_closed else current.value
            # As the counter in the driver, it wraps around.
            changed = (change(previous) + _HALF) % _RANGE - _HALF
            if current.is_closed:
                self._kept, self._is_changed = changed, True
            else:
                current.value = self._last = changed
            return previous

    def _detached_value(self) -> int:
        if self._kept is None:
            current = self._current
            # A driver that timed the client out has freed the counter. Its value stays until the driver reuses the id.
            is_known = (
                self._reader.registration_id(current.id) == current.registration_id
                and self._reader.type_id(current.id) == self.type_id
            )
            self._kept = current.value if is_known else self._last
        return self._kept
