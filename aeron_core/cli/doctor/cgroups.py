"""Limits of control groups, which containers and services have, of version 1 or 2.

Sources: cgroup-v2.rst, cgroup-v1/memory.rst and sched-bwc.rst of Linux. A controller belongs to a hierarchy of
version 1 if /proc/self/cgroup names it, else to that of version 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aeron_core.cli.doctor.findings import Finding, unknown
from aeron_core.cli.doctor.machine import Machine

#: Files of version 2 and of version 1 with a limit, by controller. A quota of version 1 has its period in another file.
_FILES: Final = {
    "cpu": ("cpu.max", "cpu.cfs_quota_us"),
    "memory": ("memory.max", "memory.limit_in_bytes"),
}
_PERIOD: Final = "cpu.cfs_period_us"
#: Without a limit, version 1 shows the largest number of bytes in whole pages, less than 2**63.
_UNLIMITED: Final = 2**62


@dataclass(frozen=True, slots=True)
class CgroupLimit:
    """The lowest limit of a control group and its parents."""

    #: Quota and period in microseconds, or bytes and 1; None without a limit.
    value: tuple[int, int] | None
    path: str  # of the file with the limit; without a limit, where none was found
    is_readable: bool = True

    def finding(self, what: str, wanted: str) -> Finding:
        """Return the finding that there is no limit, or that it cannot be read."""
        if not self.is_readable:
            return unknown(what, self.path, wanted)
        return Finding(what, f"no limit ({self.path})", wanted)


def cgroup_limit(machine: Machine, controller: str) -> CgroupLimit:
    """Return the lowest limit of the control group of this process and of its parents.

    `controller`: cpu or memory.
    """
    groups = _groups(machine)
    name, old_name = _FILES[controller]
    is_old = controller in groups
    own = groups.get(controller if is_old else "")
    root = _root(machine, controller if is_old else "")
    if root is None or own is None:
        return CgroupLimit(
            None, f"no mounted control groups with the {controller} controller", is_readable=False
        )
    limits = []
    # A container without a namespace of its own shows its group as the root, but its path as that on the host: files
    # below it are missing.
    parts = [part for part in own.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        folder = "/".join([root, *parts[:length]])
        text = machine.text(f"{folder}/{old_name if is_old else name}")
        if is_old and controller == "cpu":
            text = f"{text} {machine.text(f'{folder}/{_PERIOD}') or 0}"
        limit = _parse(text)
        if limit is not None:
            limits.append((limit[0] / limit[1], limit, f"{folder}/{old_name if is_old else name}"))
    if not limits:
        return CgroupLimit(None, own)
    _, value, file = min(limits)
    return CgroupLimit(value, file)


def _groups(machine: Machine) -> dict[str, str]:
    """Return the groups of this process by controllers of version 1, and by an empty text that of version 2."""
    groups = {}
    for line in (machine.text("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", "", ""][:3]
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _root(machine: Machine, controller: str) -> str | None:
    """Return where the hierarchy with a controller of version 1 is mounted, or, for an empty text, version 2."""
    for fields in machine.fields("/proc/self/mounts"):
        if len(fields) < 4:
            continue
        _, point, kind, options = fields[:4]
        if kind == "cgroup2" if not controller else kind == "cgroup" and controller in options.split(","):
            return point
    return None


def _parse(text: str | None) -> tuple[int, int] | None:
    """Return the limit in `200000 100000` or `1073741824`; None without one, and for files that cannot be read."""
    fields = (text or "max").split()
    if not all(field.isdecimal() for field in fields) or fields[1:] == ["0"] or int(fields[0]) >= _UNLIMITED:
        return None
    return int(fields[0]), int(fields[1]) if len(fields) > 1 else 1
