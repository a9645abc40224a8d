"""Conformance tests of idle strategies: the properties that an agent relies on."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Final

from aeron_core.agent.agent import PythonAgent
from aeron_core.agent.runner import AgentRunner
from aeron_core.spi.idle_strategy import (
    IdleStrategy,
    IdleStrategyLike,
    IdleStrategyParams,
    adapt_idle_strategy,
)
from aeron_core.testing.probes import IdleStrategyProbe

# Far beyond any useful wait, so that only an endless one fails.
_PATIENCE_S: Final = 10.0
_CYCLES: Final = 100


class IdleStrategyConformance(ABC):
    """Suite for an idle strategy: subclass as `Test…` and override `make`."""

    params = IdleStrategyParams(agent="conductor", signal_name="/aeron-core-conformance")

    @abstractmethod
    def make(self, params: IdleStrategyParams) -> IdleStrategy | IdleStrategyLike:
        """Return a new strategy."""

    def test_idling_ends_without_a_wake_up(self) -> None:
        """An agent must check its timers even if nothing wakes it."""
        strategy = adapt_idle_strategy(self.make(self.params))
        probe = IdleStrategyProbe(strategy)
        done = threading.Event()

        def idle() -> None:
            for cycle in range(_CYCLES):
                probe.idle(1 if cycle % 10 == 9 else 0)
            done.set()

        threading.Thread(target=idle, daemon=True).start()
        try:
            assert done.wait(_PATIENCE_S), f"{_CYCLES} cycles took more than {_PATIENCE_S} s"
        finally:
            strategy.close()

    def test_an_idle_agent_can_be_closed(self) -> None:
        """`close` of a runner wakes the strategy and waits for the thread."""
        agent = _Counting()
        errors: list[BaseException] = []
        runner = AgentRunner(PythonAgent(agent), adapt_idle_strategy(self.make(self.params)), errors.append)
        runner.start()
        assert agent.has_worked.wait(_PATIENCE_S)
        closing = threading.Thread(target=runner.close, daemon=True)
        closing.start()
        closing.join(_PATIENCE_S)
        assert not closing.is_alive(), f"the agent has not stopped within {_PATIENCE_S} s"
        assert errors == []

    def test_it_may_be_woken_before_idling_and_after_close(self) -> None:
        """Other threads wake an agent at any time, also before it idles and after it was closed."""
        strategy = adapt_idle_strategy(self.make(self.params))
        strategy.wake()
        IdleStrategyProbe(strategy).idle(0)
        strategy.close()
        strategy.wake()


class _Counting:
    role_name = "counting"

    def __init__(self) -> None:
        self.has_worked = threading.Event()
        self._cycles = 0

    def do_work(self) -> int:
        self._cycles += 1
        if self._cycles >= _CYCLES // 10:
            self.has_worked.set()
        return 0
