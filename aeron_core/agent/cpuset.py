"""The processors of this process's control group, and reasons why they are a poor choice.

Control groups version 2 only.
Source: aeron_cpuset.c, aeron_topology.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError

PROC_CGROUP: Final = Path("/proc/self/cgroup")
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
CPU_ROOT: Final = Path("/sys/devices/system/cpu")
_CPUS_FILE: Final = "cpuset.cpus.effective"


def read_cpus(proc_cgroup: Path = PROC_CGROUP, root: Path = CGROUP_ROOT) -> list[int]:
    """Return the processor numbers of the control group, or of its nearest ancestor with a cpuset, ascending.

    Raises ConfigurationError if `proc_cgroup` cannot be read or names no control group of version 2, if neither
    this group nor an ancestor up to `root` has a readable cpuset, or if the list is not valid.
    """
    own = group = root.joinpath(*_group_of(proc_cgroup).parts[1:])
    while True:
        try:
            return _cpus_of(group / _CPUS_FILE)
        except OSError:
            if group == root or root not in group.parents:
                raise ConfigurationError(
                    f"no readable {_CPUS_FILE} from {own} up to {root}: cpuset_affinity needs version 2 of control "
                    f"groups with the cpuset controller; enable this controller, or set cpuset_affinity=false"
                ) from None
            group = group.parent


def _group_of(proc_cgroup: Path) -> Path:
    try:
        lines = proc_cgroup.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the control group of this process: {error}; set cpuset_affinity=false, or make this file "
            "readable"
        ) from error
    for line in lines:
        # Each line is `id:controllers:path`; in version 2 of control groups the id is 0 and there are no controllers.
        if line.startswith("0::/"):
            return Path(line.removeprefix("0::"))
    raise ConfigurationError(
        f"no control group of version 2 in {proc_cgroup}: must have a line such as 0::/path; set "
        f"cpuset_affinity=false, or boot with version 2 of control groups"
    )


def _cpus_of(path: Path) -> list[int]:
    try:
        return parse_cpus(path.read_text(encoding="ascii"))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}; set cpuset_affinity=false") from None


def parse_cpus(text: str) -> list[int]:
    """Return the processors of a list such as `0-3,8`, ascending and unique; other text raises ConfigurationError."""
    cpus: set[int] = set()
    try:
        for part in text.strip().split(","):
            first, dash, last = part.partition("-")
            found = range(int(first), int(last if dash else first) + 1)
            if not found:
                raise ValueError(part)
            cpus.update(found)
    except ValueError:
        raise ConfigurationError(
            f"processors {text.strip()!r}: must be a list such as 0-3,8, of numbers and ascending ranges"
        ) from None
    return sorted(cpus)


def faults_of(cpus: Sequence[int], root: Path = CPU_ROOT) -> list[str]:
    """Return reasons why the processors are a poor choice: partial cores, several dies or several level 3 caches.

    The list is empty if there are none. Checks for which the system has no file below `root` are skipped. Raises
    ConfigurationError if the list of processors in a file is not valid.
    """
    return [*_partial_cores(cpus, root), *_spread(cpus, root)]


def _partial_cores(cpus: Sequence[int], root: Path) -> list[str]:
    faults = []
    seen: set[int] = set()
    for cpu in cpus:
        siblings = _peers(root / f"cpu{cpu}" / "topology" / "thread_siblings_list")
        missing = sorted(siblings.difference(cpus))
        if missing and not seen & siblings:
            names = ",".join(map(str, missing))
            faults.append(
                f"the cpuset has processor {cpu} but not {names}, with which it shares a core: use whole cores"
            )
        seen |= siblings
    return faults


def _spread(cpus: Sequence[int], root: Path) -> list[str]:
    if not cpus:
        return []
    first = root / f"cpu{cpus[0]}"
    kinds = [("dies", first / "topology" / "die_cpus_list")]
    kinds += [
        ("level 3 caches", cache / "shared_cpu_list")
        for cache in sorted(first.glob("cache/index*"))
        if _text_of(cache / "level") == "3"
    ]
    faults = []
    for what, path in kinds:
        peers = _peers(path)
        if peers and not peers.issuperset(cpus):
            faults.append(f"the cpuset spreads over several {what}: use processors of one of them")
    return faults


def _peers(path: Path) -> set[int]:
    try:
        return set(_cpus_of(path))
    except OSError:
        return set()


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
