"""What an agent relies on in its idle strategy."""

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

# Far beyond any wait that a driver can stand, so that only one without end fails.
_PATIENCE_S: Final = 10.0
_CYCLES: Final = 100


class IdleStrategyConformance(ABC):
    """Subclass it as `Test…` and say how to make a strategy."""

    params = IdleStrategyParams(agent="conductor", signal_name="/aeron-core-conformance")

    @abstractmethod
    def make(self, params: IdleStrategyParams) -> IdleStrategy | IdleStrategyLike:
        """Return a new strategy."""

    def test_idling_ends_by_itself(self) -> None:
        """Nobody need wake an agent, which has timers to look at."""
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

    def test_an_agent_that_idles_can_be_ended(self) -> None:
        """`close` of a runner wakes the strategy and waits for the thread."""
        agent = _Counting()
        errors: list[BaseException] = []
        runner = AgentRunner(PythonAgent(agent), adapt_idle_strategy(self.make(self.params)), errors.append)
        runner.start()
        assert agent.has_worked.wait(_PATIENCE_S)
        closing = threading.Thread(target=runner.close, daemon=True)
        closing.start()
        closing.join(_PATIENCE_S)
        assert not closing.is_alive(), f"the agent has not ended within {_PATIENCE_S} s"
        assert errors == []

    def test_it_may_be_woken_before_it_idles_and_after_its_end(self) -> None:
        """Commands come when they come."""
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
