"""Names and processor affinity of a driver's threads.

Source: aeron_driver_context.h (names), aeron_driver_context.c, aeron_set_thread_affinity_on_start and
aeron_driver_context_apply_cpuset_affinity.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Final

from aeron_core.agent import cpuset
from aeron_core.agent.runner import AgentRunner
from aeron_core.errors import ConfigurationError
from aeron_core.settings import ThreadNaming
from aeron_core.settings.threads import ThreadSettings

# The setting with the processor of each agent, by role name.
_SETTINGS: Final = {
    "conductor": "conductor_cpu_affinity",
    "sender": "sender_cpu_affinity",
    "receiver": "receiver_cpu_affinity",
    "[sender,receiver]": "sender_cpu_affinity",
    "[sender,receiver,conductor]": "conductor_cpu_affinity",
}
_NEW_NAMES: Final = {
    "conductor": "aeron-md-cnd",
    "sender": "aeron-md-snd",
    "receiver": "aeron-md-rcv",
    "[sender,receiver]": "aeron-md-net",
    "[sender,receiver,conductor]": "aeron-md-shd",
}


def place_threads(runners: Iterable[AgentRunner], settings: ThreadSettings) -> None:
    """Set name and affinity of the threads that run a driver's agents.

    Call after the runners were started; errors of one thread go to its runner's `on_error`. With
    `cpuset_affinity`, warns and raises ConfigurationError as `processors_of` does.
    """
    conductor, sender, receiver, *further = processors_of(settings)
    processors = {
        "conductor_cpu_affinity": conductor,
        "sender_cpu_affinity": sender,
        "receiver_cpu_affinity": receiver,
    }
    for runner in runners:
        # Senders after the first have a number, such as "sender-2".
        role, _, number = runner.role_name.partition("-")
        is_new = settings.thread_naming is ThreadNaming.NEW
        cpu = further[int(number) - 2] if number else processors.get(_SETTINGS.get(role, ""), -1)
        name = _NEW_NAMES.get(role, role) if is_new else role
        # As in the reference, a processor that the process may not use does not stop the driver: `on_error` records it.
        runner.place(f"{name}-{number}" if number else name, cpu if cpu >= 0 else None)


def processors_of(settings: ThreadSettings) -> tuple[int, ...]:
    """Return the processor numbers of conductor, sender, receiver and further senders, negative for any.

    With `cpuset_affinity`, a setting is an index into the processors of the control group, from 0: raises
    ConfigurationError if they cannot be read or an index is too high. If they are a poor choice, warns, or raises
    ConfigurationError with `cpuset_warnings_as_errors`.
    """
    affinities = {
        "conductor_cpu_affinity": settings.conductor_cpu_affinity,
        "sender_cpu_affinity": settings.sender_cpu_affinity,
        "receiver_cpu_affinity": settings.receiver_cpu_affinity,
    }
    first = settings.sender_cpu_affinity
    for number in range(2, settings.sender_threads + 1):
        affinities[f"sender_cpu_affinity of sender {number}"] = first + number - 1 if first >= 0 else first
    if settings.cpuset_affinity:
        affinities = _within_cpuset(affinities, is_strict=settings.cpuset_warnings_as_errors)
    return tuple(affinities.values())


def _within_cpuset(affinities: dict[str, int], *, is_strict: bool) -> dict[str, int]:
    cpus = cpuset.read_cpus()
    faults = cpuset.faults_of(cpus)
    if faults and is_strict:
        raise ConfigurationError(
            f"{'; '.join(faults)}; change the cpuset, or set cpuset_warnings_as_errors=false"
        )
    for fault in faults:
        warnings.warn(fault, stacklevel=2)
    for name, index in affinities.items():
        if index >= len(cpus):
            raise ConfigurationError(
                f"{name}={index}: must be from 0 to {len(cpus) - 1}, an index into the processors {cpus} of the "
                f"control group because of cpuset_affinity, or -1 for any"
            )
    return {name: cpus[index] if index >= 0 else index for name, index in affinities.items()}
