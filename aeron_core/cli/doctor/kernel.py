"""Checks of the kernel: its version, its clock, and huge pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from aeron_core.cli.doctor.findings import Examination, Finding, judged, unknown

#: The first kernel with UDP_GRO; UDP_SEGMENT came with 4.18. Source: udp(7).
_WANTED_KERNEL: Final = (5, 0)
_CLOCK_SOURCE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#: Clock sources that need a system call, or the access to a device, for each read.
_SLOW_CLOCKS: Final = {"acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies", "xen"}
#: Invented: ten times what a read takes with the clock source tsc.
_MAX_CLOCK_READ_NS: Final = 500
_MAX_CLOCK_RESOLUTION_NS: Final = 1000
_HUGE_PAGES: Final = "/sys/kernel/mm/transparent_hugepage"


def check_kernel(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the version of the kernel."""
    release = examined.machine.text("/proc/sys/kernel/osrelease")
    wanted = ".".join(map(str, _WANTED_KERNEL)) + " or later"
    match = re.match(r"(\d+)\.(\d+)", release or "")
    if release is None or match is None:
        yield unknown("kernel", release or "no /proc/sys/kernel/osrelease", wanted)
        return
    version = (int(match[1]), int(match[2]))
    yield judged(
        "kernel", release, wanted, "install a later kernel: UDP_GRO", is_good=version >= _WANTED_KERNEL
    )


def check_clock(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the source, the resolution and the cost of the clock."""
    machine = examined.machine
    source = machine.text(_CLOCK_SOURCE)
    if source is None:
        yield unknown("clock source", f"no {_CLOCK_SOURCE}", "tsc")
    else:
        yield judged(
            "clock source",
            source,
            "tsc, or the clock of a hypervisor",
            f"echo tsc > {_CLOCK_SOURCE}; boot with clocksource=tsc to keep it",
            is_good=source not in _SLOW_CLOCKS,
        )
    resolution_ns = machine.clock_resolution_ns()
    yield judged(
        "clock resolution",
        f"{resolution_ns} ns",
        f"at most {_MAX_CLOCK_RESOLUTION_NS} ns",
        "enable high-resolution timers: boot without highres=off",
        is_good=resolution_ns <= _MAX_CLOCK_RESOLUTION_NS,
    )
    read_ns = machine.clock_read_ns()
    yield judged(
        "clock read",
        f"{read_ns} ns",
        f"at most {_MAX_CLOCK_READ_NS} ns",
        "use another clock source: a read that takes long is a system call",
        is_good=read_ns <= _MAX_CLOCK_READ_NS,
    )


def check_huge_pages(examined: Examination) -> Iterator[Finding]:
    """Yield a finding about transparent huge pages: synchronous defragmentation stops threads at a page fault."""
    modes = {
        name: _selected(examined.machine.text(f"{_HUGE_PAGES}/{name}"))
        for name in ("enabled", "shmem_enabled", "defrag")
    }
    if modes["defrag"] is None:
        yield unknown("transparent huge pages", f"no {_HUGE_PAGES}")
        return
    yield judged(
        "transparent huge pages",
        ", ".join(f"{name}={mode}" for name, mode in modes.items() if mode),
        "defrag not always",
        f"echo madvise > {_HUGE_PAGES}/defrag",
        is_good=modes["defrag"] != "always" or modes["enabled"] == "never",
    )


def _selected(text: str | None) -> str | None:
    """Return the choice in brackets, as in `always [madvise] never`."""
    match = re.search(r"\[(\S+)\]", text or "")
    return match[1] if match else text
