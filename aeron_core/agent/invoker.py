"""An agent that its owner runs, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable

import cython

from aeron_core.agent.agent import Agent


class AgentInvoker:
    """Runs an agent on whatever thread calls it, one at a time."""

    def __init__(self, agent: Agent, on_error: Callable[[BaseException], None]) -> None:
        self._agent = agent
        self._on_error = on_error
        self._is_started = False

    def do_work(self) -> int:
        """Run one duty cycle; return 0 if there was nothing to do. Exceptions go to `on_error`."""
        if not self._is_started:
            self._is_started = True
            self._agent.on_start()
        try:
            with cython.nogil:
                work = self._agent.do_work()
        except Exception as error:
            self._on_error(error)
            return 1
        return work

    def close(self) -> None:
        """End the agent."""
        if self._is_started:
            self._agent.on_close()
