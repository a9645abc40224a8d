"""Invoker: runs an agent on the caller's thread, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable

import cython

from aeron_core.agent.agent import Agent


class AgentInvoker:
    """Runs an agent on the thread that calls it; one thread at a time."""

    def __init__(self, agent: Agent, on_error: Callable[[BaseException], None]) -> None:
        self._agent = agent
        self._on_error = on_error
        self._is_started = False
        self._is_closed = False

    def do_work(self) -> int:
        """Run one duty cycle and return the work count, 0 if there was nothing to do.

        The first call also starts the agent, before the duty cycle. An exception of the agent goes to `on_error`, and
        the result is 1; the next call runs a duty cycle even if the start failed.
        """
        try:
            if not self._is_started:
                self._is_started = True
                self._agent.on_start()
            with cython.nogil:
                work = self._agent.do_work()
        except Exception as error:
            self._on_error(error)
            return 1
        return work

    def close(self) -> None:
        """Close the agent, even if it never ran; only the first call has an effect. An exception goes to `on_error`."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._agent.on_close()
        except Exception as error:
            self._on_error(error)
