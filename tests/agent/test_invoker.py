from aeron_core.agent.agent import PythonAgent
from aeron_core.agent.invoker import AgentInvoker


def invoker_of(agent):
    errors = []
    return AgentInvoker(PythonAgent(agent), errors.append), errors


def test_an_agent_starts_with_its_first_duty_cycle(scripted):
    agent = scripted(answers=[3, 0])
    invoker, _ = invoker_of(agent)

    assert agent.log == []
    assert [invoker.do_work(), invoker.do_work()] == [3, 0]
    assert agent.log == ["start", 3, 0]


def test_an_exception_of_an_agent_is_reported(scripted):
    fault = ValueError("broken")
    invoker, errors = invoker_of(scripted(answers=[fault, 2]))

    assert invoker.do_work() != 0
    assert invoker.do_work() == 2
    assert errors == [fault]


def test_an_agent_is_closed_once(scripted):
    agent = scripted()
    invoker, _ = invoker_of(agent)
    invoker.do_work()

    invoker.close()
    invoker.close()

    assert agent.log == ["start", "close"]


def test_a_close_that_raises_is_reported(scripted):
    class Uncloseable(scripted):
        def on_close(self):
            raise OSError("cannot unlink")

    invoker, errors = invoker_of(Uncloseable())

    invoker.close()

    assert [str(error) for error in errors] == ["cannot unlink"]
