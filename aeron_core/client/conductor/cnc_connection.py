"""Connection to the cnc file of a driver, also while the driver is starting.

    no file, or incomplete, or
    this user may not open it     wait
    incompatible, or damaged,
    or it cannot be mapped        raise
    no heartbeat, or an old one   wait: a driver that died may be replaced by another, with a new file

Source: aeron_client.c, aeron_client_connect_to_driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import CncNotReadyError, DriverTimeoutError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.settings.aeron_dir import unread_aeron_dir

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core.settings.client import ClientFields

_PAUSE_S: Final = 0.016
_NS_PER_MS: Final = 1_000_000


def connect_cnc(
    settings: ClientFields, clock: Clock, *, pause: Callable[[], object] | None = None
) -> CncFile:
    """Return the cnc file of a live driver.

    Calls `pause` between two attempts, or sleeps 16 ms if it is None. Raises DriverTimeoutError if no driver is alive
    within the driver timeout, or this user may not open its file; CncIncompatibleError if the file is damaged or has an
    incompatible version, StorageError if it cannot be mapped.
    """
    deadline_ns = clock.nano_time() + settings.driver_timeout_ms * _NS_PER_MS
    while True:
        try:
            return open_cnc(settings, clock)
        except CncNotReadyError as error:
            problem = str(error)
        if clock.nano_time() >= deadline_ns:
            unread = unread_aeron_dir(settings.aeron_dir)
            raise DriverTimeoutError(
                f"no media driver is accessible in {settings.aeron_dir} within {settings.driver_timeout_ms} ms: "
                f"{problem}; start one with `AERON_DIR={settings.aeron_dir} aeron-core driver` or "
                "MediaDriver.launch_embedded(), or give the directory of a running one, as aeron_dir or in AERON_DIR"
                + (
                    f"; AERON_DIR={unread} is not read, because settings or a directory were given"
                    if unread
                    else ""
                )
            )
        if pause is None:
            time.sleep(_PAUSE_S)
        else:
            pause()


def open_cnc(settings: ClientFields, clock: Clock) -> CncFile:
    """Return the cnc file of a live driver, without waiting.

    Raises CncNotReadyError if no driver is alive, or this user may not open its file, and the other errors of
    `connect_cnc`.
    """
    cnc = CncFile.open(settings.aeron_dir / CNC_FILE)
    problem = _problem(cnc, clock.epoch_ms(), settings.driver_timeout_ms)
    if problem is not None:
        raise CncNotReadyError(problem)
    return cnc


def _problem(cnc: CncFile, now_ms: int, driver_timeout_ms: int) -> str | None:
    """Return why the driver of the file is not alive, for a message; None if it is alive."""
    heartbeat_ms = ManyToOneRingBuffer(cnc.to_driver).consumer_heartbeat_ms
    if heartbeat_ms < 0:
        return "the last one there has shut down"
    if heartbeat_ms == 0:
        return "the one there has not started its duty cycle"
    if now_ms - heartbeat_ms > driver_timeout_ms:
        return f"the last one there sent its last heartbeat {now_ms - heartbeat_ms} ms ago"
    return None
