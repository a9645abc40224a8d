import pytest

from aeron_core.agent.idle_strategies import SpinIdleStrategy
from aeron_core.errors import PluginError
from aeron_core.spi.idle_strategy import IdleStrategy, adapt_idle_strategy
from aeron_core.testing import IdleStrategyProbe


def test_a_compiled_strategy_is_used_as_it_is():
    strategy = SpinIdleStrategy()

    assert adapt_idle_strategy(strategy) is strategy


@pytest.mark.parametrize("base", [object, IdleStrategy, SpinIdleStrategy])
def test_a_strategy_written_in_python_is_called(base):
    class Counting(base):
        def __init__(self):
            self.counts = []

        def idle(self, work_count):
            self.counts.append(work_count)

    strategy = Counting()
    IdleStrategyProbe(adapt_idle_strategy(strategy)).idle(3)

    assert strategy.counts == [3]


def test_an_exception_of_a_strategy_is_raised_to_the_caller():
    class Broken:
        def idle(self, work_count):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        IdleStrategyProbe(adapt_idle_strategy(Broken())).idle(0)


def test_an_object_without_the_method_is_rejected():
    with pytest.raises(PluginError, match="cannot be used as idle strategy: it must have the methods idle"):
        adapt_idle_strategy(object())
