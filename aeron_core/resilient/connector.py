"""Connector of a resilient client: opens plain clients of whichever driver runs in the directory.

Invariant: the connector remembers which `cnc.dat` the last client was opened with, by device and inode.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from aeron_core.client.aeron import Aeron
from aeron_core.client.conductor.cnc_connection import connect_cnc, open_cnc
from aeron_core.client.conductor.conductor import ClientConductor
from aeron_core.errors import CncNotReadyError, DriverTimeoutError
from aeron_core.protocol.cnc import CNC_FILE

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core.protocol.cnc import CncFile
    from aeron_core.resilient.program_handlers import ProgramHandlers
    from aeron_core.settings.client import ClientFields


class Connector:
    """The connector of one resilient client; `on_close` is called when a plain client is closed."""

    def __init__(
        self,
        fields: ClientFields,
        clock: Clock,
        handlers: ProgramHandlers,
        driver_invoker: Callable[[], object] | None,
        on_close: Callable[[], object],
    ) -> None:
        self._fields = fields
        self._clock = clock
        self._handlers = handlers
        self._driver_invoker = driver_invoker
        self._on_close = on_close
        self._file: tuple[int, int] | None = None

    def open(self, *, waits: bool) -> tuple[ClientConductor, Aeron]:
        """Return a plain client; wait for the driver if `waits`, otherwise raise DriverTimeoutError at once."""
        before = self._file_id()
        cnc = self._connected() if waits else self._open_cnc()
        # If the file was replaced meanwhile, the next check detects that, unless `before` is the older one.
        after = self._file_id()
        self._file = after if before in {None, after} else before
        conductor = ClientConductor(
            cnc,
            self._fields,
            self._clock,
            replace(self._handlers.client, on_close=self._on_close),
            self._driver_invoker,
        )
        conductor.callbacks.available_counter_handlers.extend(self._handlers.available_counters)
        conductor.callbacks.unavailable_counter_handlers.extend(self._handlers.unavailable_counters)
        return conductor, Aeron(conductor)

    def was_replaced(self) -> bool:
        """Return whether `cnc.dat` is another file than that of the last client; False if it is missing."""
        file = self._file_id()
        return file is not None and file != self._file

    def _connected(self) -> CncFile:
        return connect_cnc(self._fields, self._clock, pause=self._driver_invoker)

    def _open_cnc(self) -> CncFile:
        try:
            return open_cnc(self._fields, self._clock)
        except CncNotReadyError as error:
            raise DriverTimeoutError(
                f"no media driver is accessible in {self._fields.aeron_dir}: {error}; start one with "
                f"`AERON_DIR={self._fields.aeron_dir} aeron-core driver`"
            ) from error

    def _file_id(self) -> tuple[int, int] | None:
        """Return device and inode of `cnc.dat`, which a driver creates anew when it starts; None if it is missing."""
        try:
            status = os.stat(self._fields.aeron_dir / CNC_FILE)
        except OSError:
            return None
        return status.st_dev, status.st_ino
