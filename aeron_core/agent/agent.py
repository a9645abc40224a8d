"""Agents: tasks that one thread executes in repeated short steps, the duty cycles.

Compiled agents run without the GIL; `PythonAgent` runs an object in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native.pointers import PointerList


class AgentLike(Protocol):
    """An agent in plain Python; it may also have `on_start` and `on_close`."""

    role_name: str

    def do_work(self) -> int:
        """Run one duty cycle and return the work count, 0 if there was nothing to do."""


class Agent:
    """Base of compiled agents; one thread at a time calls it."""

    def __init__(self, role_name: str) -> None:
        self.role_name = role_name

    def do_work(self) -> int:
        """Run one duty cycle without the GIL and return the work count, 0 if there was nothing to do."""
        return 0

    def rest_ns(self, longest_ns: int) -> int:
        """Return how long nothing but its rings and descriptors gives the agent work: from 0 to `longest_ns`.

        0 if something else may, or a timer is due. Called on the agent's thread without the GIL, before a long wait
        only.
        """
        return 0

    def attend(self, is_heard: bool) -> int:
        """Look at everything in the next duty cycle; `is_heard`: after it, only at what does not ring the bell.

        Called on the agent's thread without the GIL when its bell is armed, was rung, or is not used any more. Returns
        0.
        """
        return 0

    def has_received(self) -> bool:
        """Return whether the last duty cycle received something from a descriptor, even if it counts as no work."""
        return False

    def descriptors(self) -> list[int]:
        """Return descriptors that are readable when there is work; they stay the same and open until `on_close`."""
        return []

    def on_start(self) -> None:
        """Acquire resources; called once before the first duty cycle, on the same thread."""

    def on_close(self) -> None:
        """Release resources; called once at the end, even if `on_start` raised or was not called."""


class PythonAgent(Agent):
    """Runs an agent in plain Python; takes the GIL for each duty cycle. `can_rest`: only its rings give it work."""

    def __init__(self, delegate: AgentLike, *, can_rest: bool = False) -> None:
        super().__init__(delegate.role_name)
        self._delegate = delegate
        self._can_rest = can_rest

    def do_work(self) -> int:
        """See `Agent.do_work`."""
        with cython.gil:
            return self._delegate.do_work()

    def rest_ns(self, longest_ns: int) -> int:
        """See `Agent.rest_ns`."""
        return longest_ns if self._can_rest else 0

    def on_start(self) -> None:
        """See `Agent.on_start`."""
        if hasattr(self._delegate, "on_start"):
            self._delegate.on_start()

    def on_close(self) -> None:
        """See `Agent.on_close`."""
        if hasattr(self._delegate, "on_close"):
            self._delegate.on_close()


class CompositeAgent(Agent):
    """Several agents that share one thread, executed in turn.

    If one raises, the next call continues with the agent after it: a broken agent must not block the others.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        super().__init__("[" + ",".join(agent.role_name for agent in agents) + "]")
        self._agents = list(agents)
        self._pointers = PointerList()
        self._next = 0
        for agent in self._agents:
            self._pointers.append(cython.cast(cython.pointer(PyObject), agent))

    def do_work(self) -> int:
        """See `Agent.do_work`."""
        work = 0
        while self._next < self._pointers.size:
            index = self._next
            self._next += 1
            work += cython.cast(Agent, self._pointers.at(index)).do_work()
        self._next = 0
        return work

    def rest_ns(self, longest_ns: int) -> int:
        """See `Agent.rest_ns`."""
        shortest_ns = longest_ns
        for index in range(self._pointers.size):
            if shortest_ns == 0:
                break
            shortest_ns = cython.cast(Agent, self._pointers.at(index)).rest_ns(shortest_ns)
        return shortest_ns

    def attend(self, is_heard: bool) -> int:
        """See `Agent.attend`."""
        for index in range(self._pointers.size):
            cython.cast(Agent, self._pointers.at(index)).attend(is_heard)
        return 0

    def has_received(self) -> bool:
        """See `Agent.has_received`."""
        for index in range(self._pointers.size):  # noqa: SIM110 - a generator needs the GIL
            if cython.cast(Agent, self._pointers.at(index)).has_received():
                return True
        return False

    def descriptors(self) -> list[int]:
        """See `Agent.descriptors`."""
        return [descriptor for agent in self._agents for descriptor in agent.descriptors()]

    def on_start(self) -> None:
        """See `Agent.on_start`; raises the first exception at once, so that the agents after it are not started."""
        for agent in self._agents:
            agent.on_start()

    def on_close(self) -> None:
        """See `Agent.on_close`; closes all agents, the last one first, then raises the first exception."""
        errors = []
        for agent in reversed(self._agents):
            try:
                agent.on_close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
