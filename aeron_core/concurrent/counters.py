"""Counters in a file that every process can map: allocation, labels, keys and look-up.

Not here: the value itself on the hot path (`_native.counter`). A counter has two records with the same index, which is
its id: 512 bytes of metadata and 128 bytes of values. The state in the metadata:

    unused -> allocated -> reclaimed -> allocated ...        the first unused record ends the list

Invariant: all fields of a counter are stored before its state becomes `allocated`.

Source: aeron_counters_manager.c.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.counter import AtomicCounter
from aeron_core.errors import ConfigurationError, StorageError
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.clock import Clock

_NS_PER_MS: Final = 1_000_000

NULL_COUNTER_ID: Final = -1
"""No counter. Source: AERON_NULL_COUNTER_ID."""

NOT_FREE_TO_REUSE: Final = (1 << 63) - 1
"""The deadline of an allocated counter. Source: AERON_COUNTER_NOT_FREE_TO_REUSE."""


@frozen(slots=True)
class CounterRecord:
    """A snapshot of one counter; its fields were not all read at one instant."""

    id: int
    state: int
    type_id: int
    free_for_reuse_deadline_ms: int
    key: bytes  # always 112 bytes
    label: str
    value: int
    registration_id: int
    owner_id: int
    reference_id: int


class CountersReader:
    """Reads counters, and sets the value of those that this process owns. Any thread.

    Methods that take an id, except `counter`, raise IndexError unless it is from 0 to `max_counter_id`.
    """

    def __init__(self, metadata: AtomicBuffer, values: AtomicBuffer) -> None:
        self.metadata: Final = metadata
        self.values: Final = values
        # The smaller of both counts, in case the lengths in a damaged file do not match.
        count = min(
            metadata.capacity // wire.COUNTER_METADATA_LENGTH, values.capacity // wire.COUNTER_VALUE_LENGTH
        )
        self.max_counter_id: Final = count - 1

    def __iter__(self) -> Iterator[CounterRecord]:
        """Yield the allocated counters in the order of their ids."""
        for counter_id in self.allocated_ids():
            record = self.record(counter_id)
            # The counter may have been freed since `allocated_ids` read its state.
            if record.state == wire.COUNTER_STATE_ALLOCATED:
                yield record

    def allocated_ids(self) -> Iterator[int]:
        """Yield the ids of the allocated counters in ascending order; the driver may free one at any time."""
        for counter_id in range(self.max_counter_id + 1):
            state = self.state(counter_id)
            if state == wire.COUNTER_STATE_ALLOCATED:
                yield counter_id
            # Ids are assigned in order: no record after an unused one is in use.
            elif state == wire.COUNTER_STATE_UNUSED:
                return

    def record(self, counter_id: int) -> CounterRecord:
        """Return all fields of a counter in any state; they are not read at one instant."""
        return CounterRecord(
            id=counter_id,
            state=self.state(counter_id),
            type_id=self.type_id(counter_id),
            free_for_reuse_deadline_ms=self.free_for_reuse_deadline_ms(counter_id),
            key=self.key(counter_id),
            label=self.label(counter_id),
            value=self.value(counter_id),
            registration_id=self.registration_id(counter_id),
            owner_id=self.owner_id(counter_id),
            reference_id=self.reference_id(counter_id),
        )

    def find(self, type_id: int, registration_id: int) -> int:
        """Return the id of the first allocated counter with this type and registration id, or NULL_COUNTER_ID."""
        for counter_id in self.allocated_ids():
            if self.type_id(counter_id) == type_id and self.registration_id(counter_id) == registration_id:
                return counter_id
        return NULL_COUNTER_ID

    def counter(self, counter_id: int) -> AtomicCounter:
        """Return an object for frequent access to a counter's value; raise IndexError if the id has no value."""
        return AtomicCounter(self.values, counter_id)

    def state(self, counter_id: int) -> int:
        """Return one of wire.COUNTER_STATE_…; a faulty process may have stored another number."""
        return self.metadata.get_i32_acquire(self._metadata_at(counter_id) + wire.COUNTER_STATE_OFFSET)

    def type_id(self, counter_id: int) -> int:
        """Return the type: one of those in `counter_types`, or another number that a client has chosen."""
        return self.metadata.get_i32(self._metadata_at(counter_id) + wire.COUNTER_TYPE_ID_OFFSET)

    def free_for_reuse_deadline_ms(self, counter_id: int) -> int:
        """Return when the id may be reused, in ms since the epoch, or NOT_FREE_TO_REUSE.

        As planned when it was freed: the driver measures the time with the monotonic clock.
        """
        return self.metadata.get_i64_acquire(
            self._metadata_at(counter_id) + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET
        )

    def key(self, counter_id: int) -> bytes:
        """Return all 112 bytes of the key; the type defines how many of them are used."""
        return self.metadata.get_bytes(
            self._metadata_at(counter_id) + wire.COUNTER_KEY_OFFSET, wire.COUNTER_KEY_MAX_LENGTH
        )

    def label(self, counter_id: int) -> str:
        """Return the human-readable label, at most 380 bytes of UTF-8; bytes that are not UTF-8 are replaced."""
        at = self._metadata_at(counter_id)
        # Acquire: pairs with the release in `_put_label`, which stores the length after the text.
        length = self.metadata.get_i32_acquire(at + wire.COUNTER_LABEL_LENGTH_OFFSET)
        # Any process can write to the file: a wrong length must not lead outside the label.
        length = max(0, min(length, wire.COUNTER_LABEL_MAX_LENGTH))
        return self.metadata.get_bytes(at + wire.COUNTER_LABEL_OFFSET, length).decode(errors="replace")

    def value(self, counter_id: int) -> int:
        """Return the value of a counter, loaded with acquire; its unit depends on the type."""
        return self.values.get_i64_acquire(self._value_at(counter_id) + wire.COUNTER_VALUE_OFFSET)

    def set_value(self, counter_id: int, value: int) -> None:
        """Store a value with release order; raise IndexError if the values are mapped read-only, too."""
        self.values.put_i64_release(self._value_at(counter_id) + wire.COUNTER_VALUE_OFFSET, value)

    def registration_id(self, counter_id: int) -> int:
        """Return the registration id; the reference's driver stores it after the state, so it is 0 for a moment."""
        return self.values.get_i64_acquire(self._value_at(counter_id) + wire.COUNTER_REGISTRATION_ID_OFFSET)

    def owner_id(self, counter_id: int) -> int:
        """Return the id of the owning client, -1 for the driver, 0 if none was stored, as for counters of channels."""
        return self.values.get_i64(self._value_at(counter_id) + wire.COUNTER_OWNER_ID_OFFSET)

    def reference_id(self, counter_id: int) -> int:
        """Return the registration id of the image or publication that a subscriber position follows; 0 for others."""
        return self.values.get_i64(self._value_at(counter_id) + wire.COUNTER_REFERENCE_ID_OFFSET)

    def _check(self, counter_id: int) -> None:
        if not 0 <= counter_id <= self.max_counter_id:
            raise IndexError(
                f"counter_id={counter_id}: must be from 0 to {self.max_counter_id}, the ids in this buffer"
            )

    def _metadata_at(self, counter_id: int) -> int:
        self._check(counter_id)
        return counter_id * wire.COUNTER_METADATA_LENGTH

    def _value_at(self, counter_id: int) -> int:
        self._check(counter_id)
        # 128 bytes, two cache lines, for one value: threads that write neighbouring counters share no line.
        return counter_id * wire.COUNTER_VALUE_LENGTH


class CountersManager(CountersReader):
    """Allocates and frees counters. For the conductor of a driver, on buffers that start as zeros.

    A freed id is not reused for `free_to_reuse_timeout_ms`: during this time a reader that still has the id finds the
    state `reclaimed`, not another counter. Raises ConfigurationError if the metadata is too short for the values. One
    thread only.
    """

    def __init__(
        self, metadata: AtomicBuffer, values: AtomicBuffer, clock: Clock, free_to_reuse_timeout_ms: int
    ) -> None:
        super().__init__(metadata, values)
        needed = values.capacity // wire.COUNTER_VALUE_LENGTH * wire.COUNTER_METADATA_LENGTH
        if metadata.capacity < needed:
            raise ConfigurationError(
                f"counters metadata of {metadata.capacity} bytes: must be at least {needed}, "
                f"for {values.capacity} bytes of values; use a longer metadata buffer"
            )
        self._clock = clock
        self._free_to_reuse_timeout_ms = free_to_reuse_timeout_ms
        self._high_water_mark = -1
        # Ids and deadlines, oldest first. Kept in the process, because clients may write to the file, and by the
        # monotonic clock: the time in the file is only for tools, and a step of the system clock would change the
        # timeout.
        self._free: deque[tuple[int, int]] = deque()
        # Types and registration ids of allocated counters. An index, because there may be tens of thousands of
        # counters, and a client can request many searches.
        self._keys: dict[int, tuple[int, int]] = {}
        self._ids: dict[tuple[int, int], set[int]] = {}

    def allocate(  # noqa: PLR0913 - the fields of a counter, all of which belong together
        self,
        type_id: int,
        label: str,
        key: bytes = b"",
        *,
        registration_id: int = 0,
        owner_id: int = 0,
        reference_id: int = 0,
    ) -> int:
        """Return the id of a new counter with the value 0.

        Label and key are truncated to 380 and 112 bytes. Raises StorageError if all ids are in use or were
        freed too recently.
        """
        counter_id = self._next_id(label)
        value_at = self._value_at(counter_id)
        # A reused record still has the values of its previous counter: readers skip it until its state changes below.
        self.values.put_i64(value_at + wire.COUNTER_OWNER_ID_OFFSET, owner_id)
        self.values.put_i64(value_at + wire.COUNTER_REFERENCE_ID_OFFSET, reference_id)
        self.values.put_i64_release(value_at + wire.COUNTER_REGISTRATION_ID_OFFSET, registration_id)
        self.values.put_i64_release(value_at + wire.COUNTER_VALUE_OFFSET, 0)

        at = self._metadata_at(counter_id)
        self.metadata.put_i32(at + wire.COUNTER_TYPE_ID_OFFSET, type_id)
        self.metadata.put_i64(at + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET, NOT_FREE_TO_REUSE)
        self.metadata.put_bytes(at + wire.COUNTER_KEY_OFFSET, key[: wire.COUNTER_KEY_MAX_LENGTH])
        self.set_label(counter_id, label)
        # Release: a reader that loads the state with acquire also sees all fields above. The reference stores the
        # registration id after the state, so a search there can miss a new counter.
        self.metadata.put_i32_release(at + wire.COUNTER_STATE_OFFSET, wire.COUNTER_STATE_ALLOCATED)
        self._keys[counter_id] = type_id, registration_id
        self._ids.setdefault((type_id, registration_id), set()).add(counter_id)
        return counter_id

    def find(self, type_id: int, registration_id: int) -> int:
        """Return the lowest id of an allocated counter with this type and registration id, or NULL_COUNTER_ID.

        Uses an index of this process, which other processes cannot change.
        """
        return min(self._ids.get((type_id, registration_id), ()), default=NULL_COUNTER_ID)

    def free(self, counter_id: int) -> bool:
        """Free a counter; return False if it was not allocated. The timeout of its id starts now."""
        key = self._keys.pop(counter_id, None)
        if key is None:
            return False
        self._ids[key].remove(counter_id)
        if not self._ids[key]:
            del self._ids[key]
        at = self._metadata_at(counter_id)
        timeout_ms = self._free_to_reuse_timeout_ms
        # As in the reference, the state is stored before the key is cleared: readers check the state.
        self.metadata.put_i32_release(at + wire.COUNTER_STATE_OFFSET, wire.COUNTER_STATE_RECLAIMED)
        # Label and value remain until the id is reused.
        self.metadata.set_memory(at + wire.COUNTER_KEY_OFFSET, wire.COUNTER_KEY_MAX_LENGTH, 0)
        self.metadata.put_i64(
            at + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET, self._clock.epoch_ms() + timeout_ms
        )
        self._free.append((counter_id, self._clock.nano_time() + timeout_ms * _NS_PER_MS))
        return True

    def set_label(self, counter_id: int, label: str) -> None:
        """Replace the label, truncated to 380 bytes."""
        self._put_label(counter_id, 0, label)

    def append_to_label(self, counter_id: int, text: str) -> None:
        """Append to the label, truncated to 380 bytes in total."""
        length = self.metadata.get_i32_acquire(
            self._metadata_at(counter_id) + wire.COUNTER_LABEL_LENGTH_OFFSET
        )
        self._put_label(counter_id, max(0, min(length, wire.COUNTER_LABEL_MAX_LENGTH)), text)

    def _next_id(self, label: str) -> int:
        # Reuse freed ids first: readers stop at the first unused record, so a short list makes their scans cheap.
        # The id that was freed first has the earliest deadline, so no other id needs to be checked.
        if self._free and self._clock.nano_time() >= self._free[0][1]:
            return self._free.popleft()[0]
        if self._high_water_mark >= self.max_counter_id:
            # Not the whole label: its ids would make each text distinct, and the error log keeps every distinct text.
            kind = label.partition(":")[0]
            raise StorageError(
                errno.ENOMEM,
                f"no counter left for {kind!r}: all {self.max_counter_id + 1} are in use or were freed less "
                f"than {self._free_to_reuse_timeout_ms} ms ago; raise AERON_COUNTERS_BUFFER_LENGTH, which is "
                f"{self.values.capacity} bytes, {wire.COUNTER_VALUE_LENGTH} a counter",
            )
        self._high_water_mark += 1
        return self._high_water_mark

    def _put_label(self, counter_id: int, start: int, text: str) -> None:
        """Write text into the label from byte `start` on, then store the length with release."""
        at = self._metadata_at(counter_id)
        data = text.encode(errors="replace")[: wire.COUNTER_LABEL_MAX_LENGTH - start]
        self.metadata.put_bytes(at + wire.COUNTER_LABEL_OFFSET + start, data)
        self.metadata.put_i32_release(at + wire.COUNTER_LABEL_LENGTH_OFFSET, start + len(data))
