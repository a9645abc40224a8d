"""The log buffer and the counters of one publication or image.

Invariant: they are released together, after the agent has released the stream or if it could not be created.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.driver.conductor import stream_counters

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core._native.counter import AtomicCounter
    from aeron_core.concurrent.counter_types import CounterOwner
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.logbuffer.metadata import LogBufferParams


class StreamStorage:
    """One log and a growing set of counters. Used by the conductor only."""

    def __init__(
        self, context: DriverContext, folder: str, owner: CounterOwner, log_params: LogBufferParams
    ) -> None:
        """Create the log in `folder`, `publications` or `images`.

        Raises StorageError if there is too little space, or the file cannot be created.
        """
        self.owner = owner
        self._context = context
        self._stored = context.logs.create(folder, owner.registration_id, log_params)
        self._counters: list[AtomicCounter] = []
        self._by_type: dict[int, AtomicCounter] = {}

    @property
    def log(self) -> LogBuffer:
        """The log buffer of the stream, mapped by this process."""
        return self._stored.log

    @property
    def path(self) -> Path:
        """Path at which clients map the log."""
        return self._stored.path

    def __getitem__(self, type_id: int) -> AtomicCounter:
        return self._by_type[type_id]

    def allocate(self, type_id: int, name: str) -> None:
        """Add a counter, owned by the client of the stream; `self[type_id]` returns it.

        Raises StorageError if no counter is free.
        """
        self._by_type[type_id] = self._allocate(type_id, name, self.owner)

    def new_strategy_counter(self, type_id: int, name: str) -> AtomicCounter:
        """Return a new counter of a strategy or a measurement, owned by the driver.

        Raises StorageError if no counter is free.
        """
        return self._allocate(type_id, name, replace(self.owner, client_id=counter_types.DRIVER_OWNER_ID))

    def _allocate(self, type_id: int, name: str, owner: CounterOwner) -> AtomicCounter:
        counter = stream_counters.allocate_stream_counter(self._context.counters, type_id, name, owner)
        self._counters.append(counter)
        return counter

    def release(self) -> None:
        """Free the counters and delete the log; no agent may use the stream any more."""
        # Freed ids are not reused before a timeout, so a client that still has one does not read the
        # counter of another stream.
        for counter in self._counters:
            self._context.counters.free(counter.id)
        self._counters.clear()
        # Clients that have mapped the log may finish reading: this only unlinks its file.
        self._context.logs.delete(self._stored)
