"""Drivers of this machine, found by their directories: of aeron-core or of Aeron, alive or dead.

Looked at: the directory in AERON_DIR, the user's own, all of `aeron-*` in /dev/shm and in the folder for temporary
files, which includes those of embedded drivers with any storage, directories with any name that a running process uses
(`mapped_directories`), and directories that the caller names.
Invariant: what cannot be read is reported in `DriverState.problem`, never raised.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from aeron_core.errors import AeronError
from aeron_core.frozen import frozen
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.observation.mapped_directories import MappedDirectories, may_have_driver
from aeron_core.settings.aeron_dir import aeron_dir_of, default_aeron_dir

_SHARED_MEMORY: Final = "/dev/shm"
_PATTERN: Final = "aeron-*"
#: Counter whose label has the version of the driver. Source: aeron_system_counters.h.
_SOFTWARE_COUNTER: Final = 34
_SOFTWARE_PREFIX: Final = "Aeron software: "


@frozen(slots=True)
class DriverState:
    """A driver as its directory shows it; if `problem` is not empty, the files could not be read, and the rest is None.

    `is_alive`: the last heartbeat is at most 10 s old. A driver that was killed counts as alive until then.
    """

    aeron_dir: Path  # directory of the driver
    is_alive: bool = False  # whether its last heartbeat is at most 10 s old
    pid: int | None = None  # process id
    cnc_version: str = ""  # version of `cnc.dat`, as major.minor.patch
    software: str = ""  # such as `version=1.48.0 commit=…`; empty for drivers without this counter
    start_timestamp_ms: int | None = None  # in ms since the epoch
    heartbeat_age_ms: int | None = None  # at least 0; None after a shutdown, and before the first heartbeat
    problem: str = ""  # why the files could not be read


def find_drivers(directories: Iterable[Path | str] = (), *, defaults: bool = True) -> list[DriverState]:
    """Return the drivers of this machine, first those in `directories`, each directory once.

    A directory that is named is always part of the result; others are if they contain `cnc.dat`, or if this user may
    not look into them. `defaults=False`: only `directories`; otherwise all processes that this user may look at are
    examined, which takes about 20 ms for 300 of them.
    """
    return states_of(directories, MappedDirectories() if defaults else None)


def states_of(directories: Iterable[Path | str], mapped: MappedDirectories | None) -> list[DriverState]:
    """Return the drivers in `directories`, and unless `mapped` is None those of the machine.

    For regular calls: `mapped` keeps what earlier ones have found in the processes.
    """
    found = [Path(each) for each in directories]
    if mapped is not None:
        found += [each for each in (*_candidates(), *mapped.find()) if may_have_driver(each)]
    unique = {os.path.realpath(each): each for each in reversed(found)}
    order = dict.fromkeys(os.path.realpath(each) for each in found)
    return [state_of(unique[path]) for path in order]


def state_of(aeron_dir: Path) -> DriverState:
    """Return the driver of a directory; an error is its `problem`."""
    try:
        return state_of_files(DriverFiles.open(aeron_dir))
    except (AeronError, OSError) as error:
        return DriverState(aeron_dir, problem=str(error))


def state_of_files(files: DriverFiles) -> DriverState:
    """Return the driver of mapped files."""
    label = ""
    if files.counters.max_counter_id >= _SOFTWARE_COUNTER:
        label = files.counters.label(_SOFTWARE_COUNTER)
    return DriverState(
        files.cnc.path.parent,
        files.is_alive,
        files.cnc.pid,
        files.version,
        label.removeprefix(_SOFTWARE_PREFIX) if label.startswith(_SOFTWARE_PREFIX) else "",
        files.cnc.start_timestamp_ms,
        files.heartbeat_age_ms,
    )


def _candidates() -> Iterator[Path]:
    yield aeron_dir_of()
    yield default_aeron_dir()
    for folder in dict.fromkeys((_SHARED_MEMORY, tempfile.gettempdir())):
        try:
            yield from sorted(Path(folder).glob(_PATTERN))
        except OSError:
            continue
