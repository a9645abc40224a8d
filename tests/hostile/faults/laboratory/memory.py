"""Private memory of the drivers: what grows without a bound is a leak.

A driver gets most of its memory while its first streams start: modules of the media, pools of Python, stacks. It is
compared with what it has after that. From then on two things grow: the queues between its agents, a page at a time
until all their pages are used, which takes thousands of commands; and the pools of the allocator.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from laboratory.conditions import idle_since
from laboratory.plan import DRIVERS
from laboratory.processes import status_of
from laboratory.rig import Rig

#: Age of a driver when it is measured for the first time, if each stream has flowed meanwhile. It grows by 15 to 18 MB
#: in its first 4 s, and then by 80 KB a second while clients come and go.
WARM_S: Final = 5
#: docs/explanation/memory.md, "Queues between agents".
QUEUES_KB: Final = 15 << 10
#: Pages of these queues that are first used in a second: three times as many as clients that come and go use, since
#: restarts after faults use some at once.
QUEUES_KB_PER_S: Final = 250
#: Pools of the allocator, and what a medium needs when its connections end for the first time. In 12 runs with faults,
#: a warm driver grew by at most 2 MB in all, in up to 20 s.
POOLS_KB: Final = 3 << 10


@dataclass
class Life:
    """One process of a driver: when it was ready, and when it was measured first."""

    pid: int
    ready_s: float
    measured_s: float = 0.0
    private_kb: int | None = None


class Memory:
    """Measures the drivers of a rig once they are warm, and again at the end."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._lives: dict[str, Life] = {}

    def sample(self) -> None:
        """Measure the drivers that have become warm."""
        now_s = time.monotonic()
        for name in DRIVERS:
            if name in self._rig.starting or not self._rig.system.is_running(name):
                continue
            pid = self._rig.system.pid(name)
            life = self._lives.get(name)
            if life is None or life.pid != pid:
                self._lives[name] = Life(pid, now_s)
            elif life.private_kb is None and self._is_warm(life, now_s):
                life.measured_s, life.private_kb = now_s, status_of(pid)["RssAnon"]

    def _is_warm(self, life: Life, now_s: float) -> bool:
        return now_s - life.ready_s >= WARM_S and not idle_since(self._rig, life.ready_s)

    def growth(self, name: str) -> tuple[int, int] | None:
        """Return how much a driver has grown in KB and how much it may have; None if it has not become warm."""
        life = self._lives.get(name)
        if life is None or life.private_kb is None or life.pid != self._rig.system.pid(name):
            return None
        seconds = time.monotonic() - life.measured_s
        most = POOLS_KB + min(QUEUES_KB, round(QUEUES_KB_PER_S * seconds))
        return status_of(life.pid)["RssAnon"] - life.private_kb, most

    def check(self) -> None:
        """Report the drivers that have grown by more than queues and pools."""
        for name in DRIVERS:
            growth = self.growth(name)
            self._rig.figures[f"{name} growth_kb"] = growth
            if growth is not None and growth[0] > growth[1]:
                self._rig.report(
                    f"leak: {name} has grown by {growth[0]} KB since it was warm, at most {growth[1]}"
                )
