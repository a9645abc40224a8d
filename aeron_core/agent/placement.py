"""How the threads of a driver are named, and which processor each is bound to.

Source: aeron_driver_context.h (names), aeron_driver_context.c, aeron_set_thread_affinity_on_start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aeron_core.agent.runner import AgentRunner
from aeron_core.settings import ThreadNaming
from aeron_core.settings.threads import ThreadSettings

_NEW_NAMES: Final = {
    "conductor": "aeron-md-cnd",
    "sender": "aeron-md-snd",
    "receiver": "aeron-md-rcv",
    "[sender,receiver]": "aeron-md-net",
    "[sender,receiver,conductor]": "aeron-md-shd",
}


def place_threads(runners: Iterable[AgentRunner], settings: ThreadSettings) -> None:
    """Name and bind the threads that run the agents of a driver."""
    cpus = {
        "conductor": settings.conductor_cpu_affinity,
        "sender": settings.sender_cpu_affinity,
        "receiver": settings.receiver_cpu_affinity,
        "[sender,receiver]": settings.sender_cpu_affinity,
        "[sender,receiver,conductor]": settings.conductor_cpu_affinity,
    }
    for runner in runners:
        role = runner.role_name
        is_new = settings.thread_naming is ThreadNaming.NEW
        cpu = cpus.get(role, -1)
        runner.place(_NEW_NAMES.get(role, role) if is_new else role, cpu if cpu >= 0 else None)
