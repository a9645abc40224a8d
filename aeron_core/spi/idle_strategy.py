"""Idle strategies: how an agent waits between duty cycles without work.

A strategy in plain Python needs one method:

    class NapIdleStrategy:
        def __init__(self, params: IdleStrategyParams) -> None: ...
        def idle(self, work_count: int) -> None:
            if work_count == 0:
                time.sleep(0.001)
"""

from __future__ import annotations

from typing import Final, Protocol

import cython

from aeron_core.frozen import frozen
from aeron_core.spi.adapt import python_methods, require_methods

METHODS: Final = ("idle",)


@frozen()
class IdleStrategyParams:
    """Description of the agent that an idle-strategy factory creates a strategy for.

    `options` is the text of the `…_IDLE_STRATEGY_INIT_ARGS` setting, `agent` the agent's role name. `signal_name` is
    the named semaphore ("/…") that other processes post to wake this agent.
    """

    agent: str
    options: str = ""
    signal_name: str = ""


class IdleStrategyLike(Protocol):
    """An idle strategy in plain Python; it may also have `wake` and `close`."""

    def idle(self, work_count: int) -> object:
        """Wait briefly if `work_count` is 0; the result is ignored."""


class IdleStrategy:
    """Base of compiled strategies; its own methods do nothing, so that the agent never waits."""

    def idle(self, work_count: int) -> int:
        """Wait if `work_count` is 0, else restart with the shortest wait; return 0.

        Runs on the agent's thread without the GIL.
        """
        return 0

    def wake(self) -> None:
        """Make a waiting `idle` return at once, if the strategy can. Any thread may call it."""

    def close(self) -> None:
        """Release system resources, such as the name of a semaphore. Called after the agent ended."""

    def _reserved_0(self) -> int:
        return 0

    def _reserved_1(self) -> int:
        return 0


class PythonIdleStrategy(IdleStrategy):
    """Adapter of a strategy in plain Python; takes the GIL for each call, and passes exceptions on."""

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
    """Return `strategy` itself if its `idle` is compiled, otherwise an adapter.

    Raises PluginError if it has no `idle`.
    """
    if isinstance(strategy, IdleStrategy) and not python_methods(strategy, METHODS):
        return strategy
    return PythonIdleStrategy(strategy)
