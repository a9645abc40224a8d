import pytest

from aeron_core.agent.agent import Agent, CompositeAgent, PythonAgent
from aeron_core.agent.invoker import AgentInvoker


def compose(*agents):
    errors = []
    return AgentInvoker(CompositeAgent([PythonAgent(agent) for agent in agents]), errors.append), errors


def test_a_composite_works_its_agents_in_order_and_adds_up_their_work(scripted):
    one, two = scripted("one", [1, 10]), scripted("two", [2, 20])
    invoker, _ = compose(one, two)

    assert [invoker.do_work(), invoker.do_work(), invoker.do_work()] == [3, 30, 0]
    assert [one.log, two.log] == [["start", 1, 10], ["start", 2, 20]]


def test_a_composite_is_named_after_its_agents(scripted):
    agents = [PythonAgent(scripted(name)) for name in ("sender", "receiver")]

    assert CompositeAgent(agents).role_name == "[sender,receiver]"


def test_an_agent_that_always_raises_does_not_block_the_others(scripted):
    broken, healthy = scripted("broken", [ValueError(str(n)) for n in range(3)]), scripted("healthy", [5] * 3)
    invoker, errors = compose(broken, healthy)

    for _ in range(6):
        invoker.do_work()

    assert healthy.log == ["start", 5, 5, 5]
    assert [str(error) for error in errors] == ["0", "1", "2"]


def test_all_agents_of_a_composite_are_closed_even_if_one_raises(scripted):
    class Uncloseable(scripted):
        def on_close(self):
            raise OSError("cannot unlink")

    agent = scripted()
    invoker, errors = compose(agent, Uncloseable())
    invoker.do_work()

    invoker.close()

    assert agent.log == ["start", "close"]
    assert [str(error) for error in errors] == ["cannot unlink"]


def test_an_agent_in_python_needs_only_a_name_and_a_duty_cycle():
    class Minimal:
        role_name = "minimal"

        def do_work(self):
            return 7

    invoker = AgentInvoker(PythonAgent(Minimal()), print)

    assert invoker.do_work() == 7
    invoker.close()


def test_a_duty_cycle_that_does_not_return_a_number_raises():
    class Wrong:
        role_name = "wrong"

        def do_work(self):
            return "much"

    errors = []
    AgentInvoker(PythonAgent(Wrong()), errors.append).do_work()

    assert isinstance(errors[0], TypeError)


@pytest.mark.parametrize("agent_class", [Agent, PythonAgent, CompositeAgent])
def test_agents_are_compiled(agent_class):
    assert "__pyx_vtable__" in vars(agent_class)
