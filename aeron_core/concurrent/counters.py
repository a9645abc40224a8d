"""Counters that every process which maps the file can read: allocation, labels, keys and look-up.

Not here: the value itself on the hot path (`_native.counter.Counter`). A counter is two records with the same
index, its id: 512 bytes of metadata and 128 bytes of values. The state in the metadata goes

    unused -> allocated -> reclaimed -> allocated ...        the first unused one ends the list

Invariant: everything of a counter is stored before its state says allocated.

Source: aeron_counters_manager.c.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.counter import Counter
from aeron_core.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.clock import Clock

NULL_COUNTER_ID: Final = -1
"""No counter. Source: AERON_NULL_COUNTER_ID."""

NOT_FREE_TO_REUSE: Final = (1 << 63) - 1
"""The deadline of an allocated counter. Source: AERON_COUNTER_NOT_FREE_TO_REUSE."""


@dataclass(frozen=True, slots=True)
class CounterRecord:
    """One counter as it was when it was read."""

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

    Methods that take an id raise IndexError for one outside of 0 to `max_counter_id`.
    """

    def __init__(self, metadata: AtomicBuffer, values: AtomicBuffer) -> None:
        self.metadata: Final = metadata
        self.values: Final = values
        # The smaller of both: a file whose lengths do not belong together is read as far as it goes.
        count = min(
            metadata.capacity // wire.COUNTER_METADATA_LENGTH, values.capacity // wire.COUNTER_VALUE_LENGTH
        )
        self.max_counter_id: Final = count - 1

    def __iter__(self) -> Iterator[CounterRecord]:
        """Return the allocated counters, by id."""
        for counter_id in self._allocated():
            record = self.record(counter_id)
            # The owner may have freed it while it was read.
            if record.state == wire.COUNTER_STATE_ALLOCATED:
                yield record

    def record(self, counter_id: int) -> CounterRecord:
        """Return everything about a counter, whatever its state."""
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
        """Return the first allocated counter of that type and registration, or NULL_COUNTER_ID."""
        for counter_id in self._allocated():
            if self.type_id(counter_id) == type_id and self.registration_id(counter_id) == registration_id:
                return counter_id
        return NULL_COUNTER_ID

    def counter(self, counter_id: int) -> Counter:
        """Return the value of a counter for frequent use."""
        return Counter(self.values, counter_id)

    def state(self, counter_id: int) -> int:
        """Return one of the wire.COUNTER_STATE_ numbers, or what a broken process stored."""
        return self.metadata.get_i32_acquire(self._metadata_at(counter_id) + wire.COUNTER_STATE_OFFSET)

    def type_id(self, counter_id: int) -> int:
        """Return what the counter counts."""
        return self.metadata.get_i32(self._metadata_at(counter_id) + wire.COUNTER_TYPE_ID_OFFSET)

    def free_for_reuse_deadline_ms(self, counter_id: int) -> int:
        """Return when the id may be given away again, in ms since the epoch, or NOT_FREE_TO_REUSE."""
        return self.metadata.get_i64_acquire(
            self._metadata_at(counter_id) + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET
        )

    def key(self, counter_id: int) -> bytes:
        """Return all 112 bytes of the key; how many of them are meant follows from the type."""
        return self.metadata.get_bytes(
            self._metadata_at(counter_id) + wire.COUNTER_KEY_OFFSET, wire.COUNTER_KEY_MAX_LENGTH
        )

    def label(self, counter_id: int) -> str:
        """Return the text for humans."""
        at = self._metadata_at(counter_id)
        # Acquire: a label that grows shows its new length after its new text.
        length = self.metadata.get_i32_acquire(at + wire.COUNTER_LABEL_LENGTH_OFFSET)
        length = max(0, min(length, wire.COUNTER_LABEL_MAX_LENGTH))
        return self.metadata.get_bytes(at + wire.COUNTER_LABEL_OFFSET, length).decode(errors="replace")

    def value(self, counter_id: int) -> int:
        """Return the value."""
        return self.values.get_i64_acquire(self._value_at(counter_id) + wire.COUNTER_VALUE_OFFSET)

    def set_value(self, counter_id: int, value: int) -> None:
        """Store a value, visible to all with everything that was stored before."""
        self.values.put_i64_release(self._value_at(counter_id) + wire.COUNTER_VALUE_OFFSET, value)

    def registration_id(self, counter_id: int) -> int:
        """Return the id of the command that made the counter; a driver written in C shows 0 at first."""
        return self.values.get_i64_acquire(self._value_at(counter_id) + wire.COUNTER_REGISTRATION_ID_OFFSET)

    def owner_id(self, counter_id: int) -> int:
        """Return the client that owns the counter, -1 for the driver's own."""
        return self.values.get_i64(self._value_at(counter_id) + wire.COUNTER_OWNER_ID_OFFSET)

    def reference_id(self, counter_id: int) -> int:
        """Return the registration of what a subscriber position follows, else 0."""
        return self.values.get_i64(self._value_at(counter_id) + wire.COUNTER_REFERENCE_ID_OFFSET)

    def _allocated(self) -> Iterator[int]:
        for counter_id in range(self.max_counter_id + 1):
            state = self.state(counter_id)
            if state == wire.COUNTER_STATE_ALLOCATED:
                yield counter_id
            elif state == wire.COUNTER_STATE_UNUSED:
                return

    def _check(self, counter_id: int) -> None:
        if not 0 <= counter_id <= self.max_counter_id:
            raise IndexError(f"counter_id={counter_id}: must be from 0 to {self.max_counter_id}")

    def _metadata_at(self, counter_id: int) -> int:
        self._check(counter_id)
        return counter_id * wire.COUNTER_METADATA_LENGTH

    def _value_at(self, counter_id: int) -> int:
        self._check(counter_id)
        return counter_id * wire.COUNTER_VALUE_LENGTH


class CountersManager(CountersReader):
    """Gives counters away and takes them back. For the conductor of a driver, on buffers that start as zeros.

    An id that was freed rests for `free_to_reuse_timeout_ms`: who still reads the old counter then sees that
    it was reclaimed, not a stranger's value. Raises ConfigurationError for metadata shorter than the values
    need.
    """

    def __init__(
        self, metadata: AtomicBuffer, values: AtomicBuffer, clock: Clock, free_to_reuse_timeout_ms: int
    ) -> None:
        super().__init__(metadata, values)
        needed = values.capacity // wire.COUNTER_VALUE_LENGTH * wire.COUNTER_METADATA_LENGTH
        if metadata.capacity < needed:
            raise ConfigurationError(
                f"counters metadata of {metadata.capacity} bytes: must be at least {needed}, "
                f"for {values.capacity} bytes of values"
            )
        self._clock = clock
        self._free_to_reuse_timeout_ms = free_to_reuse_timeout_ms
        self._high_water_mark = -1
        # Ids and their deadlines, oldest first. Kept here, too: clients may write to the file.
        self._free: list[tuple[int, int]] = []

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

        Label and key are cut where they are longer than 380 and 112 bytes. Raises StorageError when no id is
        left.
        """
        counter_id = self._next_id(label)
        value_at = self._value_at(counter_id)
        self.values.put_i64(value_at + wire.COUNTER_OWNER_ID_OFFSET, owner_id)
        self.values.put_i64(value_at + wire.COUNTER_REFERENCE_ID_OFFSET, reference_id)
        self.values.put_i64_release(value_at + wire.COUNTER_REGISTRATION_ID_OFFSET, registration_id)
        self.values.put_i64_release(value_at + wire.COUNTER_VALUE_OFFSET, 0)

        at = self._metadata_at(counter_id)
        self.metadata.put_i32(at + wire.COUNTER_TYPE_ID_OFFSET, type_id)
        self.metadata.put_i64(at + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET, NOT_FREE_TO_REUSE)
        self.metadata.put_bytes(at + wire.COUNTER_KEY_OFFSET, key[: wire.COUNTER_KEY_MAX_LENGTH])
        self.set_label(counter_id, label)
        # Release: a reader that sees the state sees all of the above. The reference stores the registration
        # id after it; here `find` never misses a counter that is allocated.
        self.metadata.put_i32_release(at + wire.COUNTER_STATE_OFFSET, wire.COUNTER_STATE_ALLOCATED)
        return counter_id

    def free(self, counter_id: int) -> bool:
        """Take a counter back; return False if it was not allocated."""
        if not 0 <= counter_id <= self.max_counter_id:
            return False
        if self.state(counter_id) != wire.COUNTER_STATE_ALLOCATED:
            return False
        at = self._metadata_at(counter_id)
        deadline_ms = self._clock.epoch_ms() + self._free_to_reuse_timeout_ms
        self.metadata.put_i32_release(at + wire.COUNTER_STATE_OFFSET, wire.COUNTER_STATE_RECLAIMED)
        self.metadata.set_memory(at + wire.COUNTER_KEY_OFFSET, wire.COUNTER_KEY_MAX_LENGTH, 0)
        self.metadata.put_i64(at + wire.COUNTER_FREE_FOR_REUSE_DEADLINE_OFFSET, deadline_ms)
        self._free.append((counter_id, deadline_ms))
        return True

    def set_label(self, counter_id: int, label: str) -> None:
        """Replace the label, cut to 380 bytes."""
        self._put_label(counter_id, 0, label)

    def append_to_label(self, counter_id: int, text: str) -> None:
        """Lengthen the label, cut to 380 bytes in all."""
        length = self.metadata.get_i32_acquire(
            self._metadata_at(counter_id) + wire.COUNTER_LABEL_LENGTH_OFFSET
        )
        self._put_label(counter_id, max(0, min(length, wire.COUNTER_LABEL_MAX_LENGTH)), text)

    def set_registration_id(self, counter_id: int, registration_id: int) -> None:
        """Store the id by which `find` finds the counter."""
        self.values.put_i64_release(
            self._value_at(counter_id) + wire.COUNTER_REGISTRATION_ID_OFFSET, registration_id
        )

    def set_owner_id(self, counter_id: int, owner_id: int) -> None:
        """Store the client that owns the counter."""
        self.values.put_i64(self._value_at(counter_id) + wire.COUNTER_OWNER_ID_OFFSET, owner_id)

    def set_reference_id(self, counter_id: int, reference_id: int) -> None:
        """Store the registration of what a subscriber position follows."""
        self.values.put_i64(self._value_at(counter_id) + wire.COUNTER_REFERENCE_ID_OFFSET, reference_id)

    def _next_id(self, label: str) -> int:
        if self._free:
            now_ms = self._clock.epoch_ms()
            for index, (counter_id, deadline_ms) in enumerate(self._free):
                if now_ms >= deadline_ms:
                    del self._free[index]
                    return counter_id
        if self._high_water_mark >= self.max_counter_id:
            raise StorageError(
                errno.ENOMEM,
                f"no counter left for {label!r}: all {self.max_counter_id + 1} are in use or were freed less "
                f"than {self._free_to_reuse_timeout_ms} ms ago; raise AERON_COUNTERS_BUFFER_LENGTH, which is "
                f"{self.values.capacity} bytes, {wire.COUNTER_VALUE_LENGTH} a counter",
            )
        self._high_water_mark += 1
        return self._high_water_mark

    def _put_label(self, counter_id: int, start: int, text: str) -> None:
        """Put text into the label from `start` on, then the length with release."""
        at = self._metadata_at(counter_id)
        data = text.encode(errors="replace")[: wire.COUNTER_LABEL_MAX_LENGTH - start]
        self.metadata.put_bytes(at + wire.COUNTER_LABEL_OFFSET + start, data)
        self.metadata.put_i32_release(at + wire.COUNTER_LABEL_LENGTH_OFFSET, start + len(data))
