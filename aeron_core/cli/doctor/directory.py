"""Checks of the driver's directory: permissions, and the driver that has it, alive or dead."""

from __future__ import annotations

import os
from collections.abc import Iterator

from aeron_core.cli.doctor.findings import Examination, Finding, Health, judged, unknown
from aeron_core.cli.doctor.memory import existing_parent
from aeron_core.driver.directory import DIRECTORY_ENTRIES
from aeron_core.errors import AeronError, CncNotReadyError
from aeron_core.observation.driver_files import DriverFiles


def check_directory(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the directory of the driver and about its parent."""
    machine, directory = examined.machine, examined.settings.aeron_dir.absolute()
    parent = existing_parent(examined)
    is_writable = machine.is_writable(parent)
    yield Finding(
        f"permissions of {parent}",
        "writable" if is_writable else "not writable for this user",
        "writable",
        Health.OK if is_writable else Health.PROBLEM,
        f"set AERON_DIR to a directory that this user may create; /dev/shm has mode 1777: chmod 1777 {parent}",
    )
    what = f"directory {directory}"
    path = machine.path(directory)
    # Not `exists` of the path, which raises PermissionError.
    if not os.path.exists(path):
        yield Finding(what, "does not exist", "none, or a driver's")
        return
    change = f"delete {directory}, or set AERON_DIR to another directory"
    if not path.is_dir():
        yield Finding(what, "is no directory", "none, or a driver's", Health.PROBLEM, change)
        return
    if not machine.is_writable(directory):
        text = "belongs to another user"
        yield Finding(what, text, "writable", Health.PROBLEM, "set AERON_DIR to another directory")
        return
    strange = sorted(set(machine.names(str(directory))) - DIRECTORY_ENTRIES)
    if strange:
        found = f"contains {strange[0]!r}, which no driver created"
        yield Finding(what, found, "only files of drivers", Health.PROBLEM, change)
        return
    yield _driver_in(examined, what)


def _driver_in(examined: Examination, what: str) -> Finding:
    """Return the finding about the driver that has created the directory."""
    directory = examined.settings.aeron_dir.absolute()
    wanted = "no driver, or one that is alive"
    try:
        files = DriverFiles.open(examined.machine.path(directory))
        age_ms, is_alive, pid = files.heartbeat_age_ms, files.is_alive, files.cnc.pid
    except CncNotReadyError:
        return Finding(what, "has no complete cnc.dat", wanted)
    except AeronError as error:
        return unknown(what, str(error), wanted)
    if is_alive:
        found = f"process {pid} is a driver, alive: another one needs a directory of its own"
        return Finding(what, found, wanted)
    if age_ms is None:
        return Finding(what, "the driver has shut down", wanted)
    return judged(
        what,
        f"the driver of process {pid} died {age_ms // 1000} s ago",
        wanted,
        f"aeron-core errors --aeron-dir {directory} shows its errors; aeron-core clean --aeron-dir {directory} frees "
        "its memory, as the next driver does",
        is_good=False,
    )
