"""What an agent does between duty cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import cython

from aeron_core.spi.adapt import python_methods, require_methods

METHODS: Final = ("idle",)


@dataclass(frozen=True)
class IdleStrategyParams:
    """`options` is the text of the `…_IDLE_STRATEGY_INIT_ARGS` setting; `agent` names who will idle.

    `signal_name` is the named semaphore ("/…") that others post to wake this agent.
    """

    agent: str
    options: str = ""
    signal_name: str = ""


class IdleStrategyLike(Protocol):
    """An idle strategy in plain Python; it may also have `wake` and `close`."""

    def idle(self, work_count: int) -> object:
        """Wait a little if `work_count` is 0; the answer is not looked at."""


class IdleStrategy:
    """Base of compiled strategies; itself does nothing, so an agent spins."""

    def idle(self, work_count: int) -> int:
        """Wait if `work_count` is 0, start over otherwise; return 0. Runs on the agent's thread, no GIL."""
        return 0

    def wake(self) -> None:
        """Let `idle` return at once, if it can; any thread may call it."""

    def close(self) -> None:
        """Let go of what other processes see, such as a name; the agent has ended."""

    def _reserved_0(self) -> int:
        return 0

    def _reserved_1(self) -> int:
        return 0


class PythonIdleStrategy(IdleStrategy):
    """Runs a strategy that is written in plain Python, taking the GIL for each call."""

    def __init__(self, strategy: IdleStrategyLike) -> None:
        methods = python_methods(strategy, METHODS)
        require_methods(strategy, "idle strategy", methods, METHODS)
        self._idle = methods["idle"]
        self._wake = getattr(strategy, "wake", None)
        self._close = getattr(strategy, "close", None)

    def idle(self, work_count: int) -> int:
        """See `IdleStrategy.idle`."""
        with cython.gil:
            self._idle(work_count)
        return 0

    def wake(self) -> None:
        """See `IdleStrategy.wake`."""
        if self._wake is not None:
            self._wake()

    def close(self) -> None:
        """See `IdleStrategy.close`."""
        if self._close is not None:
            self._close()


def adapt_idle_strategy(strategy: IdleStrategy | IdleStrategyLike) -> IdleStrategy:
    """Return `strategy` itself if it is compiled, else an adapter."""
    if isinstance(strategy, IdleStrategy) and not python_methods(strategy, METHODS):
        return strategy
    return PythonIdleStrategy(strategy)
