"""Checks of the processors: number, isolation, frequency governor, and the limits of a container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aeron_core.cli.doctor.cgroups import cgroup_limit
from aeron_core.cli.doctor.findings import Examination, Finding, Health, judged, unknown
from aeron_core.settings.threads import ThreadingMode

_CPU: Final = "/sys/devices/system/cpu"
#: Threads of a driver, by threading mode; with INVOKER the thread of the application runs the agents.
_THREADS: Final = {
    ThreadingMode.DEDICATED: 3,
    ThreadingMode.SHARED_NETWORK: 2,
    ThreadingMode.SHARED: 1,
    ThreadingMode.INVOKER: 0,
}
_AFFINITIES: Final = ("conductor_cpu_affinity", "sender_cpu_affinity", "receiver_cpu_affinity")


def check_processors(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the processors that this process may use."""
    machine, settings, mode = examined.machine, examined.settings, examined.settings.threading_mode
    threads = _THREADS[mode] + settings.sender_threads - 1
    wanted = f"{threads + 1} for threading_mode={mode.value} and an application"
    change = "use threading_mode=SHARED, or more processors; do not use the idle strategy spin"
    allowed = _allowed(examined)
    if allowed is None:
        yield unknown("processors", "no Cpus_allowed_list in /proc/self/status", wanted)
    else:
        online = len(parse_list(machine.text(f"{_CPU}/online") or "")) or len(allowed)
        found = f"{len(allowed)}" if len(allowed) >= online else f"{len(allowed)} of {online}"
        yield judged("processors", found, wanted, change, is_good=len(allowed) > threads)
    limit = cgroup_limit(machine, "cpu")
    if limit.value is None:
        yield limit.finding("processor time of the container", wanted)
        return
    quota, period = limit.value
    processors = quota / period
    yield judged(
        "processor time of the container",
        f"{processors:g} processors ({limit.path})",
        wanted,
        "raise --cpus or the CPU limit of the pod: a driver that is throttled stops for tens of milliseconds",
        is_good=processors > threads,
    )


def check_isolation(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the processors of pinned agents."""
    allowed = _allowed(examined)
    pinned = _pinned(examined, allowed)
    text = examined.machine.text(f"{_CPU}/isolated")
    if text is None:
        yield unknown("isolated processors", f"no {_CPU}/isolated")
        return
    wanted = ", ".join(map(str, pinned)) or "those of agents with cpu affinity; none has one"
    numbers = ",".join(map(str, pinned))
    yield judged(
        "isolated processors",
        text or "none",
        wanted,
        f"boot with isolcpus={numbers} nohz_full={numbers} rcu_nocbs={numbers}",
        is_good=set(pinned) <= set(parse_list(text)),
    )
    if allowed is not None and (missing := set(pinned) - set(allowed)):
        yield Finding(
            "processors of agents",
            f"{', '.join(map(str, sorted(missing)))} not allowed",
            f"among {', '.join(map(str, allowed))}",
            Health.ADVICE,
            f"change {', '.join(_AFFINITIES)}, or the processors that this process may use",
        )


def check_governor(examined: Examination) -> Iterator[Finding]:
    """Yield a finding about the frequency governors of all processors."""
    machine = examined.machine
    governors = {
        governor
        for name in machine.names(_CPU)
        if name.startswith("cpu")
        if (governor := machine.text(f"{_CPU}/{name}/cpufreq/scaling_governor")) is not None
    }
    if not governors:
        yield unknown(
            "frequency governor",
            "none: the hypervisor or the firmware decides",
            "performance",
            "nothing in a virtual machine: its host decides; else choose maximum performance in the firmware",
        )
        return
    yield judged(
        "frequency governor",
        ", ".join(sorted(governors)),
        "performance",
        "cpupower frequency-set --governor performance",
        is_good=governors == {"performance"},
    )


def _pinned(examined: Examination, allowed: list[int] | None) -> list[int]:
    """Return the processors of the settings in ascending order."""
    settings = examined.settings
    numbers = {number for name in _AFFINITIES if (number := getattr(settings, name)) >= 0}
    if settings.sender_cpu_affinity >= 0:
        numbers.update(
            settings.sender_cpu_affinity + further for further in range(1, settings.sender_threads)
        )
    if settings.cpuset_affinity and allowed is not None:
        # The settings are indexes, and a driver refuses one that is too large itself.
        numbers = {allowed[number] for number in numbers if number < len(allowed)}
    return sorted(numbers)


def _allowed(examined: Examination) -> list[int] | None:
    for fields in examined.machine.fields("/proc/self/status"):
        if fields[:1] == ["Cpus_allowed_list:"] and len(fields) > 1:
            return parse_list(fields[1])
    return None


def parse_list(text: str) -> list[int]:
    """Return the numbers of a list such as `0-3,8`; none for other text."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            numbers += range(int(first), int(last or first) + 1)
    return numbers
