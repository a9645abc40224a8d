"""Connection to the cnc file of a driver, also while the driver is starting.

    no file, or incomplete, or
    this user may not open it     wait
    the default directory is
    that of another user          raise
    incompatible, or damaged,
    or it cannot be mapped        raise
    no heartbeat, or an old one   wait: a driver that died may be replaced by another, with a new file

Source: aeron_client.c, aeron_client_connect_to_driver.
"""

from __future__ import annotations

import errno
import os
import pwd
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import CncNotReadyError, DriverTimeoutError, StorageError
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.settings.aeron_dir import default_aeron_dir, unread_aeron_dir

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
    incompatible version, StorageError if it cannot be mapped, or the default directory belongs to another user.
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
    owned = _check_owner(settings.aeron_dir)
    cnc = CncFile.open(settings.aeron_dir / CNC_FILE)
    if _check_owner(settings.aeron_dir) != owned:
        raise CncNotReadyError(f"{settings.aeron_dir} was just created")
    problem = _problem(cnc, clock.epoch_ms(), settings.driver_timeout_ms)
    if problem is not None:
        raise CncNotReadyError(problem)
    return cnc


def _check_owner(aeron_dir: Path) -> tuple[int, int] | None:
    """Return device and inode of the default directory; None for another one, or if it is missing.

    Raises StorageError if it belongs neither to this user, nor to root, nor to the user that its name has. Every user
    can create it, in /dev/shm, before the driver does, and would get what is sent. Its owner alone can remove it
    there. A directory that is given in AERON_DIR is trusted.
    """
    if aeron_dir != default_aeron_dir() or os.environ.get("AERON_DIR", "").strip():
        return None
    try:
        # For a symbolic link, check the owner of the link itself, who decides where it points.
        status = os.lstat(aeron_dir)
    except OSError:
        return None
    trusted = {0, os.geteuid()}
    with suppress(KeyError):
        trusted.add(pwd.getpwnam(aeron_dir.name.removeprefix("aeron-")).pw_uid)
    if status.st_uid not in trusted:
        raise StorageError(
            errno.EPERM,
            f"{aeron_dir} belongs to another user, with the id {status.st_uid}, who could read and change what is "
            f"sent: have it removed, or set AERON_DIR={aeron_dir} if that user is to be trusted",
        )
    return status.st_dev, status.st_ino


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
