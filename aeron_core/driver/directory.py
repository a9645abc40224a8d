"""The driver's directory: used by one live driver at a time; the directory of a dead driver is taken over.

Source: aeron_driver.c, aeron_driver_ensure_dir_is_recreated.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.error_log import read_errors
from aeron_core.concurrent.error_report import date_of, lines_of
from aeron_core.concurrent.loss_report import LOSS_REPORT_FILE
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.concurrent.wake_up import BELLS_FOLDER
from aeron_core.errors import (
    ActiveDriverError,
    CncIncompatibleError,
    CncNotReadyError,
    ProtocolError,
    StorageError,
)
from aeron_core.file_locks import close_in_children, try_lock
from aeron_core.protocol.cnc import CNC_FILE, CncFile

if TYPE_CHECKING:
    from io import FileIO

    from aeron_core.concurrent.error_log import ErrorRecord
    from aeron_core.file_access import FileAccess
    from aeron_core.settings.driver import DriverFields

#: All entries that a driver creates in its directory.
DIRECTORY_ENTRIES: Final = frozenset({CNC_FILE, LOSS_REPORT_FILE, "publications", "images", BELLS_FOLDER})
#: Seconds between two checks whether a starting driver has completed its cnc.dat. Invented: a start takes longer.
_START_CHECK_INTERVAL_S: Final = 0.01
#: Milliseconds by which a heartbeat may be ahead of the clock. Invented: more than a clock is slewed between two beats.
_FUTURE_MS: Final = 100


def prepare_directory(settings: DriverFields) -> None:
    """Delete `aeron_dir` and create it again with its folders.

    All, and missing parents, get the mode and group of the settings. Unless `dir_delete_on_start` is set: waits up to
    `driver_timeout_ms` for a driver that is starting in it, or that holds its lock although its heartbeat is old,
    raises ActiveDriverError if a live driver uses it, and saves the error log of a dead one beside it. Raises
    StorageError if it is not a directory, holds files that no driver created, or cannot be read, deleted or created;
    ConfigurationError if files cannot have the group.
    """
    path, access = settings.aeron_dir, settings.file_access
    if path.exists() and not path.is_dir():
        raise StorageError(
            errno.ENOTDIR, f"aeron.dir={path} is not a directory: choose another with aeron_dir or AERON_DIR"
        )
    if path.is_dir():
        if settings.dir_warn_if_exists:
            _print(f"WARNING: {path} exists")
        _check_is_ours(path)
        # The setting overrides the check: it deletes the directory of a live driver too. Clients of that
        # driver keep their mappings, but new clients cannot find it.
        if not settings.dir_delete_on_start:
            _check_no_active_driver(path, settings.driver_timeout_ms, prints_age=settings.dir_warn_if_exists)
            _save_errors(path, access)
        from shutil import rmtree  # noqa: PLC0415 - slow to import: a driver without an earlier one needs it at its end

        try:
            rmtree(path)
        except OSError as error:
            raise StorageError(
                error.errno or errno.EINVAL,
                f"cannot delete aeron.dir={path}: {error.strerror or error}; choose another with aeron_dir or "
                "AERON_DIR",
            ) from error
    try:
        access.make_folders(path.parent)
        for folder in (path, path / "publications", path / "images"):
            access.make_folder(folder)
    except OSError as error:
        raise StorageError(
            error.errno,
            f"cannot create aeron.dir={path}: {error.strerror}; choose a writable one with aeron_dir or AERON_DIR",
        ) from error


def _check_is_ours(path: Path) -> None:
    # The directory is deleted with its contents, so it must hold only files of media drivers.
    try:
        strange = sorted(entry.name for entry in path.iterdir() if entry.name not in DIRECTORY_ENTRIES)
    except OSError as error:
        raise StorageError(
            error.errno or errno.EINVAL,
            f"cannot read aeron.dir={path}: {error.strerror or error}; choose another with aeron_dir or AERON_DIR",
        ) from error
    if strange:
        raise StorageError(
            errno.ENOTEMPTY,
            f"aeron.dir={path} contains {strange[0]!r}, which no media driver created and which would be "
            "deleted; choose another directory with aeron_dir or AERON_DIR",
        )


def _check_no_active_driver(path: Path, timeout_ms: int, *, prints_age: bool = False) -> None:
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            cnc = CncFile.open(path / CNC_FILE, read_only=True)
            break
        except CncNotReadyError:
            # There is no file, or it was not completed, or not readable for this user, within the timeout: its driver
            # counts as dead.
            if not (path / CNC_FILE).exists() or time.monotonic() >= deadline:
                return
            # Another driver may be starting in this directory.
            time.sleep(_START_CHECK_INTERVAL_S)
        except CncIncompatibleError:
            # The heartbeat cannot be read. At the start of a driver this counts as dead;
            # `delete_dead_directory` opens the file again and refuses.
            return
    ring = ManyToOneRingBuffer(cnc.to_driver)
    age_ms = _age_ms(ring)
    if prints_age:
        _print(f"INFO: Aeron driver heartbeat is {max(age_ms, 0)} ms old")
    # The heartbeat is in epoch time: after a step of the system clock forward, a live driver looks dead until it stores
    # the next one. Drivers of the reference have no lock: as in the reference, this check does not wait for theirs.
    looks_stepped = age_ms > timeout_ms and ring.consumer_heartbeat_ms > 0 and is_locked(path)
    if looks_stepped or age_ms < -_FUTURE_MS:
        if not _beats_within(ring, timeout_ms):
            return
        # The driver may have closed instead: the heartbeat is -1 then, which counts as too old.
        age_ms = _age_ms(ring)
    if age_ms <= timeout_ms:
        # As in the reference, only the age decides: the driver may run in another pid namespace (container).
        raise ActiveDriverError(
            f"active media driver detected in {path}: pid {cnc.pid}, last heartbeat {max(age_ms, 0)} ms ago; "
            f"{_advice(cnc.pid, timeout_ms - max(age_ms, 0))}"
        )


def lock_directory(path: Path) -> FileIO | None:
    """Return the file `cnc.dat` of a driver, locked until it is closed; None if it cannot be locked.

    Other drivers see by the lock that a driver whose heartbeat is too old may be alive.
    """
    with suppress(OSError), ExitStack() as stack:
        file = stack.enter_context(open(path / CNC_FILE, "rb", buffering=0))
        if try_lock(file):
            close_in_children(file)
            stack.pop_all()
            return file
    return None


def is_locked(path: Path) -> bool:
    """Return whether the driver of the directory holds its lock, by which it may be alive, see `lock_directory`."""
    with suppress(OSError), open(path / CNC_FILE, "rb", buffering=0) as file:
        return not try_lock(file, shared=True)
    return False


def _age_ms(ring: ManyToOneRingBuffer) -> int:
    return int(time.time() * 1000) - ring.consumer_heartbeat_ms


def _beats_within(ring: ManyToOneRingBuffer, timeout_ms: int) -> bool:
    """Return whether the heartbeat changes: after a step of the clock, that of a dead or stuck driver does not."""
    deadline, before = time.monotonic() + timeout_ms / 1000, ring.consumer_heartbeat_ms
    while ring.consumer_heartbeat_ms == before:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_START_CHECK_INTERVAL_S)
    return True


def _advice(pid: int, left_ms: int) -> str:
    if not has_exited(pid):
        return "stop it, or choose another directory with aeron_dir or AERON_DIR"
    return (
        f"no process here has that pid: if it was killed, the directory is free in {left_ms / 1000:.1f} s, or at "
        "once with AERON_DIR_DELETE_ON_START=true"
    )


def has_exited(pid: int) -> bool:
    """Return whether no process of this pid namespace has that id; False for an invalid id."""
    # `kill` takes 0 and negative numbers for process groups.
    if pid <= 0:
        return False
    try:
        # Signal 0 sends nothing: it only checks that the process exists and may be signalled.
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        # The process belongs to another user, or the id is too large for a process id.
        return False
    return False


def _save_errors(path: Path, access: FileAccess) -> None:
    # Keep the errors of a dead driver: its directory is about to be deleted.
    try:
        cnc = CncFile.open(path / CNC_FILE, read_only=True)
    except (CncNotReadyError, CncIncompatibleError):
        return
    records: list[ErrorRecord] = []
    try:
        # Not `list`, which would drop the records before a damaged entry.
        for record in read_errors(cnc.error_log):
            records.append(record)  # noqa: PERF402
    except ProtocolError:
        # Damage must not prevent the start: the file would stay, and prevent every later start in this directory, too.
        _print(
            f"WARNING: error log of {path} is damaged, number of entries before the damage: {len(records)}"
        )
    if not records:
        return
    # Name, content and message are those of aeronmd.
    stamp = date_of(time.time_ns() // 1_000_000).replace(":", "-")
    target = path.with_name(f"{path.name}-{stamp}-error.log")
    try:
        # A new file, not one that another user may have put there, nor the target of a link.
        with open(target, "x", encoding="utf-8", opener=access.open) as file:
            file.write("\n".join((*lines_of(records), "")))
    except OSError as error:
        # As in aeronmd: a full disk does not prevent the start.
        _print(f"WARNING: existing errors not saved to: {target}: {error.strerror}")
        return
    _print(f"WARNING: Existing errors saved to: {target}")


def _print(line: str) -> None:
    # The lines are those of aeronmd, which programs parse. A closed stderr, or a full disk, must not prevent the start.
    if sys.stderr is not None:
        with suppress(OSError):
            print(line, file=sys.stderr)


def delete_directory(path: Path) -> None:
    """Delete the directory of a driver that has ended, except files that no driver created.

    What cannot be deleted stays, without an error.
    """
    from shutil import rmtree  # noqa: PLC0415 - slow to import: only the end of a driver needs it

    for entry in (path / name for name in DIRECTORY_ENTRIES):
        if entry.is_dir():
            rmtree(entry, ignore_errors=True)
        else:
            with suppress(OSError):
                entry.unlink()
    with suppress(OSError):
        # Fails if the directory still has other files, which stay.
        path.rmdir()


def delete_undoubted_directory(path: Path, timeout_ms: int) -> bool:
    """Delete the directory of a dead driver like `delete_dead_directory`, but without waiting; return whether it did.

    It stays if a driver is starting in it, holds its lock, or has a heartbeat in the future, which only another
    heartbeat would explain.
    """
    ring = ManyToOneRingBuffer(CncFile.open(path / CNC_FILE, read_only=True).to_driver)
    if is_locked(path) or _age_ms(ring) <= timeout_ms:
        return False
    delete_dead_directory(path, timeout_ms)
    return True


def delete_dead_directory(path: Path, timeout_ms: int, *, dry_run: bool = False) -> None:
    """Delete the directory of a dead driver; with `dry_run` only check that it may be deleted.

    Waits up to `timeout_ms` for a driver that is starting in it, and for a heartbeat of one that holds its lock, if
    the last one is old. Raises ActiveDriverError if the driver's heartbeat is at most `timeout_ms` old;
    CncIncompatibleError if another version created the directory, so that its liveness is unknown; StorageError if
    `path` holds files that no driver created, or cannot be read or deleted.
    """
    _check_is_ours(path)
    _check_no_active_driver(path, timeout_ms)
    with suppress(CncNotReadyError):
        CncFile.open(path / CNC_FILE, read_only=True)
    if dry_run:
        return
    delete_directory(path)
    if path.exists():
        raise StorageError(
            errno.EACCES,
            f"cannot delete all of {path}: delete it as the user that ran the driver, after unmounting it if it is a "
            f"mount point",
        )
