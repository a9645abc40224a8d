"""Proxy of a driver: commands to it, through the ring of cnc.dat.

Not here: responses (driver_listener). Any thread may use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

from aeron_core.concurrent import wake_up
from aeron_core.errors import ClientError
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core._native.park import Bell
    from aeron_core._native.semaphore import NamedSemaphore
    from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer

P = ParamSpec("P")

# Source: AERON_CLIENT_COMMAND_RB_FAIL_THRESHOLD in aeron_client_conductor.h. The pause is invented: the reference only
# yields the processor.
_MAX_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.001


class DriverProxy:
    """Writer of one client's commands to the driver's ring.

    Each command raises ClientError if the ring stays full for 10 ms, ConfigurationError if it is too long for the ring,
    ProtocolError if the ring is damaged.
    """

    def __init__(self, ring: ManyToOneRingBuffer, aeron_dir: Path | str | None = None) -> None:
        """Take a new client id from the ring; wake the driver of `aeron_dir`, unless it is None, after each command."""
        self._ring = ring
        self.client_id: Final = ring.next_correlation_id()
        self._wake_up: NamedSemaphore | Bell | None = None
        #: The bell that publications ring after messages.
        self.sender_bell: Bell | None = None
        self.bells: wake_up.DriverBells | None = None
        if aeron_dir is not None:
            self.bells = bells = wake_up.DriverBells(aeron_dir, self.client_id)
            self.sender_bell = bells.of("sender")
            self._wake_up = bells.of(wake_up.CONDUCTOR) or wake_up.find_semaphore(
                aeron_dir, wake_up.CONDUCTOR
            )

    def stream_bell(self, correlation_id: int) -> Bell | None:
        """Return the bell of the subscribers of an IPC stream, None if the driver has none."""
        if self.bells is None or self.bells.streams is None:
            return None
        return self.bells.streams.bell(correlation_id)

    @property
    def heartbeat_ms(self) -> int:
        """Time of the driver's last heartbeat in ms since the epoch; 0 before the first, -1 after a shutdown."""
        return self._ring.consumer_heartbeat_ms

    def next_correlation_id(self) -> int:
        """Return an int64 that no other call of any client of this driver returns."""
        return self._ring.next_correlation_id()

    def send(
        self,
        kind: Callable[Concatenate[int, int, P], commands.DriverCommand],
        *fields: P.args,
        **named: P.kwargs,
    ) -> int:
        """Send a command of this client, with the fields that follow the two ids; return its correlation id."""
        return self._write(kind(self.client_id, self.next_correlation_id(), *fields, **named))

    def close_client(self, client_id: int | None = None) -> int:
        """Send the command to close this client, or another one, with all its resources; return its correlation id."""
        closed = self.client_id if client_id is None else client_id
        return self._write(commands.ClientClose(closed, self.next_correlation_id()))

    def _write(self, command: commands.DriverCommand) -> int:
        message = command.encode()
        for _ in range(_MAX_ATTEMPTS):
            if self._ring.write(command.TYPE_ID, message):
                if self._wake_up is not None:
                    self._wake_up.signal()
                return command.correlation_id
            time.sleep(_PAUSE_S)
        raise ClientError(
            f"{type(command).__name__}: the command ring of the media driver was full in each of {_MAX_ATTEMPTS} "
            f"attempts: the driver {self._driver_state()}"
        )

    def _driver_state(self) -> str:
        heartbeat_ms = self.heartbeat_ms
        if heartbeat_ms < 0:
            return "has shut down: start it, then connect again"
        if heartbeat_ms == 0:
            return "has not started: wait until it has, then retry"
        # The clock may have been set back since the heartbeat.
        age_ms = max(time.time_ns() // 1_000_000 - heartbeat_ms, 0)
        return f"may have stopped (last heartbeat {age_ms} ms ago): check that it is running, then retry"
