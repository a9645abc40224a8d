"""Runner: executes an agent on a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import cython

from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.park import sleep_ns
from aeron_core.agent.agent import Agent
from aeron_core.errors import AeronError, ConfigurationError
from aeron_core.spi.idle_strategy import IdleStrategy

#: Pause after an exception: reporting it takes the GIL, which an agent that raises in each duty cycle must leave to
#: other threads. The duration is invented.
ERROR_PAUSE_NS: Final = 1_000_000
COMM_LENGTH: Final = 15  # TASK_COMM_LEN of Linux without the final NUL


class AgentRunner:
    """Runs the duty cycles of one agent until it is closed.

    Duty cycles run without the GIL, unless the agent or the idle strategy takes it. Exceptions of both go to
    `on_error`, on the agent's thread unless it was never started; the agent continues after a pause, but does not run
    if `on_start` raised.
    """

    def __init__(
        self, agent: Agent, idle_strategy: IdleStrategy, on_error: Callable[[BaseException], None]
    ) -> None:
        self._agent = agent
        self._idle_strategy = idle_strategy
        self._on_error = on_error
        self._is_running = AtomicLong(0)
        self._is_closed = False
        self._error_pause_ns = ERROR_PAUSE_NS
        self._thread = threading.Thread(target=self.run, name=f"aeron-{agent.role_name}", daemon=True)

    def start(self) -> None:
        """Start the agent's thread, a daemon thread. Raises RuntimeError if called twice."""
        self._is_running.set_release(1)
        self._thread.start()

    @property
    def role_name(self) -> str:
        """The role name of the agent, such as `sender`, or `[sender,receiver]` of a composite."""
        return str(self._agent.role_name)

    def place(self, name: str, cpu: int | None) -> None:
        """Set the name of the started thread, as shown by `top -H`, and its processor unless `cpu` is None.

        The name is ASCII; its first 15 characters are used. Errors go to `on_error`, and the thread continues.
        """
        thread_id = self._thread.native_id
        try:
            Path(f"/proc/self/task/{thread_id}/comm").write_text(name[:COMM_LENGTH], encoding="ascii")
            if cpu is not None:
                _bind(thread_id, name, cpu)
        except (AeronError, OSError) as error:
            self._report(error)

    def run(self) -> None:
        """Run duty cycles until `close` is called, none if `on_start` raises; then close agent and idle strategy."""
        try:
            self._agent.on_start()
        except Exception as error:
            self._is_running.set_release(0)
            self._report(error)
        while self._is_running.get_acquire():
            try:
                with cython.nogil:
                    self._run_cycles()
            except Exception as error:
                self._report(error)
                with cython.nogil:
                    sleep_ns(self._error_pause_ns)
        self._end()

    def _run_cycles(self) -> int:
        while self._is_running.get_acquire():
            self._idle_strategy.idle(self._agent.do_work())
        return 0

    def close(self) -> None:
        """Stop after the current duty cycle and at most one idle period or error pause, and wait for the thread.

        Called on the agent's own thread, it does not wait. If the thread was never started, closes the agent and the
        idle strategy on the calling thread.
        """
        self._is_running.set_release(0)
        self._idle_strategy.wake()
        if self._thread.ident is None:
            self._end()
        elif threading.current_thread() is not self._thread:
            self._thread.join()

    def _end(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for end in (self._agent.on_close, self._idle_strategy.close):
            try:
                end()
            except Exception as error:
                self._report(error)

    def _report(self, error: BaseException) -> None:
        try:
            self._on_error(error)
        except Exception:
            # A failure of `on_error` must neither end the thread nor lose the error of the agent.
            import logging  # noqa: PLC0415 - slow to import: only this error needs it

            logging.getLogger(__name__).exception(
                "cannot report %r of agent %s", error, self._agent.role_name
            )


def _bind(thread_id: int | None, name: str, cpu: int) -> None:
    allowed = os.sched_getaffinity(0)
    if cpu not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise ConfigurationError(
            f"failed to set thread affinity name={name}, cpu_affinity_no={cpu}: WARNING: unable to apply affinity: "
            f"must be one of {known}; change conductor_cpu_affinity, sender_cpu_affinity or receiver_cpu_affinity, "
            f"or the processors that the process may use"
        )
    os.sched_setaffinity(thread_id or 0, {cpu})
