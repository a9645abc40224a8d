"""A thread of its own for an agent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import cython

from aeron_core._native.cell import AtomicLong
from aeron_core.agent.agent import Agent
from aeron_core.spi.idle_strategy import IdleStrategy


class AgentRunner:
    """Runs the duty cycles of one agent until it is closed.

    The thread never holds the GIL but where the agent or the idle strategy takes it. What an agent raises
    goes to `on_error`, and the agent goes on.
    """

    def __init__(
        self, agent: Agent, idle_strategy: IdleStrategy, on_error: Callable[[BaseException], None]
    ) -> None:
        self._agent = agent
        self._idle_strategy = idle_strategy
        self._on_error = on_error
        self._is_running = AtomicLong(0)
        self._thread = threading.Thread(target=self.run, name=f"aeron-{agent.role_name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._is_running.set_release(1)
        self._thread.start()

    def run(self) -> None:
        """Run duty cycles on this thread until another calls `close`."""
        self._agent.on_start()
        while self._is_running.get_acquire():
            try:
                with cython.nogil:
                    self._run_cycles()
            except Exception as error:
                self._on_error(error)
        self._agent.on_close()

    def _run_cycles(self) -> int:
        while self._is_running.get_acquire():
            self._idle_strategy.idle(self._agent.do_work())
        return 0

    def close(self) -> None:
        """Stop after the current duty cycle and wait for it."""
        self._is_running.set_release(0)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
