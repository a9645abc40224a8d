"""Limits of version 2 of control groups, which containers and services have. Source: cgroup-v2.rst of Linux."""

from __future__ import annotations

from dataclasses import dataclass

from aeron_core.cli.doctor.findings import Finding, unknown
from aeron_core.cli.doctor.machine import Machine


@dataclass(frozen=True, slots=True)
class CgroupLimit:
    """The lowest limit of a control group and its parents."""

    #: Quota and period of cpu.max in microseconds, or the bytes of memory.max and 1; None without a limit.
    value: tuple[int, int] | None
    path: str  # of the file with the limit; without a limit, where none was found
    is_readable: bool = True

    def finding(self, what: str, wanted: str) -> Finding:
        """Return the finding that there is no limit, or that it cannot be read."""
        if not self.is_readable:
            return unknown(what, self.path, wanted)
        return Finding(what, f"no limit ({self.path})", wanted)


def cgroup_limit(machine: Machine, controller: str, name: str) -> CgroupLimit:
    """Return the lowest limit in the files `name` of the control group of this process and of its parents."""
    root = next(
        (fields[1] for fields in machine.fields("/proc/self/mounts") if fields[2:3] == ["cgroup2"]), None
    )
    own = None
    for line in (machine.text("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", "", ""][:3]
        if controller in controllers.split(","):
            return CgroupLimit(
                None, f"version 1 of control groups has the {controller} controller", is_readable=False
            )
        if not controllers:
            own = path
    if root is None or own is None:
        return CgroupLimit(None, "no version 2 of control groups", is_readable=False)
    limits = []
    parts = [part for part in own.split("/") if part not in ("", "..")]
    for length in range(len(parts), -1, -1):
        file = "/".join([root, *parts[:length], name])
        limit = _parse(machine.text(file))
        if limit is not None:
            limits.append((limit[0] / limit[1], limit, file))
    if not limits:
        return CgroupLimit(None, own)
    _, value, file = min(limits)
    return CgroupLimit(value, file)


def _parse(text: str | None) -> tuple[int, int] | None:
    """Return the limit in `200000 100000` or `1073741824`; None for `max`, and for a file that cannot be read."""
    fields = (text or "max").split()
    if not all(field.isdecimal() for field in fields) or fields[1:] == ["0"]:
        return None
    return int(fields[0]), int(fields[1]) if len(fields) > 1 else 1
