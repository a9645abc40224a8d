"""Checks of memory: the filesystem of the driver's directory, limits of the process and of a container."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aeron_core.cli.doctor.cgroups import cgroup_limit
from aeron_core.cli.doctor.findings import Examination, Finding, Health, judged, unknown
from aeron_core.uri.values import format_size

_MIB: Final = 1024 * 1024
#: Terms of a log buffer. Source: aeron_logbuffer_descriptor.h, AERON_LOGBUFFER_PARTITION_COUNT.
_TERMS: Final = 3
#: Logs of network streams that fit without advice: two streams, each sent and received. Invented.
_LOGS: Final = 4
#: Descriptors without which a driver cannot start, and those for about a hundred streams. Invented.
_MIN_FILES: Final = 64
_WANTED_FILES: Final = 4096
#: Memory of a container without advice: Python, a driver, its logs. Invented.
_MIN_MEMORY: Final = 512 * _MIB


def check_shared_memory(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the filesystem that has the directory of the driver."""
    machine, settings = examined.machine, examined.settings
    folder = existing_parent(examined)
    what = f"filesystem of {folder}"
    mount = _mount_of(examined, folder)
    if mount is None:
        yield unknown(what, "no entry in /proc/self/mounts", "tmpfs")
    else:
        kind, options = mount
        is_read_only = "ro" in options.split(",")
        yield Finding(
            what,
            f"{kind}, {options}",
            "tmpfs, rw",
            Health.PROBLEM if is_read_only else Health.OK if kind in {"tmpfs", "ramfs"} else Health.ADVICE,
            f"mount -o remount,rw {folder}"
            if is_read_only
            else "set AERON_DIR to a directory in /dev/shm: other filesystems write the log buffers to disk",
        )
    space = machine.space(folder)
    own = settings.cnc_file_length + settings.loss_report_buffer_length
    log, ipc_log = _TERMS * settings.term_buffer_length, _TERMS * settings.ipc_term_buffer_length
    needed = own + _LOGS * log + ipc_log
    wanted = (
        f"{_mib(needed)} MiB free: {_mib(own)} for the driver, {_mib(log)} for each log of a network stream, "
        f"{_mib(ipc_log)} for each of aeron:ipc"
    )
    if space is None:
        yield unknown(f"space in {folder}", "the size of its filesystem cannot be read", wanted)
        return
    health = Health.OK
    if space.free < needed:
        # Files are sparse by default: what is free must hold the largest one, not all of them.
        health = Health.PROBLEM if space.free < max(own, log) else Health.ADVICE
    size = -(-(space.total + needed) // _MIB)
    yield Finding(
        f"space in {folder}",
        f"{_mib(space.free)} MiB free of {_mib(space.total)}",
        wanted,
        health,
        f"mount -o remount,size={size}m {folder}; in Docker --shm-size={size}m; or shorter terms: "
        "AERON_TERM_BUFFER_LENGTH, AERON_IPC_TERM_BUFFER_LENGTH",
    )


def check_limits(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the limits of this process: open files and locked memory."""
    limits = _limits(examined)
    files = limits.get("Max open files")
    wanted = f"{_WANTED_FILES} or more"
    if files is None:
        yield unknown("open files", "no /proc/self/limits", wanted)
    else:
        count = float("inf") if files == "unlimited" else int(files)
        health = (
            Health.PROBLEM if count < _MIN_FILES else Health.ADVICE if count < _WANTED_FILES else Health.OK
        )
        change = "ulimit -n 65536; LimitNOFILE=65536 of a systemd unit; --ulimit nofile=65536 of Docker"
        yield Finding("open files", files, wanted, health, change)
    locked = limits.get("Max locked memory")
    what, wanted = "locked memory", "any: a driver locks no memory"
    if locked is None:
        yield unknown(what, "no /proc/self/limits", wanted)
    else:
        yield Finding(what, format_size(int(locked)) if locked.isdecimal() else locked, wanted)


def check_container_memory(examined: Examination) -> Iterator[Finding]:
    """Yield a finding about the memory limit of the container, which includes its log buffers."""
    what, wanted = "memory of the container", f"{_mib(_MIN_MEMORY)} MiB or more, with all log buffers"
    limit = cgroup_limit(examined.machine, "memory")
    if limit.value is None:
        yield limit.finding(what, wanted)
        return
    length, _ = limit.value
    yield judged(
        what,
        f"{_mib(length)} MiB ({limit.path})",
        wanted,
        "raise --memory or the memory limit of the pod: log buffers count, and the kernel kills a driver beyond it",
        is_good=length >= _MIN_MEMORY,
    )


def existing_parent(examined: Examination) -> Path:
    """Return the nearest parent of the driver's directory that exists and may be inspected."""
    for folder in examined.settings.aeron_dir.absolute().parents:
        # Not `is_dir` of the path, which raises PermissionError.
        if os.path.isdir(examined.machine.path(folder)):
            return folder
    return Path("/")


def _mount_of(examined: Examination, folder: Path) -> tuple[str, str] | None:
    """Return the type and the options of the filesystem of a folder."""
    found = None
    longest = -1
    for fields in examined.machine.fields("/proc/self/mounts"):
        if len(fields) < 4:
            continue
        # Spaces in paths are written as \040. Source: fstab(5).
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])
        # Of two mounts on one point, the later one is visible.
        if (point == "/" or folder.is_relative_to(point)) and len(point) >= longest:
            found, longest = (fields[2], fields[3]), len(point)
    return found


def _limits(examined: Examination) -> dict[str, str]:
    """Return the soft limits by name."""
    found = {}
    for line in (examined.machine.text("/proc/self/limits") or "").splitlines()[1:]:
        match = re.match(r"(.+?)\s{2,}(\S+)", line)
        if match and (match[2].isdecimal() or match[2] == "unlimited"):
            found[match[1]] = match[2]
    return found


def _mib(length: int) -> str:
    """Return a length in MiB, rounded up."""
    return f"{-(-length // _MIB):,}"
