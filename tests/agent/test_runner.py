import threading
import time

import pytest

from aeron_core.agent.agent import PythonAgent
from aeron_core.agent.idle_strategies import SignalIdleStrategy, SleepIdleStrategy, YieldIdleStrategy
from aeron_core.agent.runner import AgentRunner
from aeron_core.spi.idle_strategy import PythonIdleStrategy


class RecordingIdle:
    def __init__(self):
        self.counts, self.calls = [], []

    def idle(self, work_count):
        self.counts.append(work_count)

    def wake(self):
        self.calls.append("wake")

    def close(self):
        self.calls.append("close")


@pytest.fixture
def run(await_event):
    """Return a function that runs an agent to the end of its script and returns the errors reported."""

    def run_to_end(agent, idle=None):
        errors = []
        runner = AgentRunner(PythonAgent(agent), idle or YieldIdleStrategy(), errors.append)
        runner.start()
        await_event(agent.done)
        runner.close()
        return errors

    return run_to_end


def test_an_agent_starts_works_and_closes_on_one_thread_of_its_own(run, scripted):
    agent = scripted("worker", [3, 0, 1])

    assert run(agent) == []

    assert agent.log == ["start", 3, 0, 1, "close"]
    assert agent.thread is not threading.current_thread()
    assert (agent.thread.name, agent.thread.daemon) == ("aeron-worker", True)
    assert not agent.thread.is_alive()


def test_an_exception_of_an_agent_is_reported_and_the_agent_continues(run, scripted):
    fault = ValueError("broken")
    agent = scripted(answers=[1, fault, 2])

    assert run(agent) == [fault]

    assert agent.log == ["start", 1, "raise", 2, "close"]


def test_a_report_that_fails_does_not_end_the_thread(scripted, await_event, caplog):
    def refuse(error):
        raise RuntimeError("log is full")

    agent = scripted(answers=[ValueError("broken"), 2])
    runner = AgentRunner(PythonAgent(agent), YieldIdleStrategy(), refuse)
    runner.start()
    await_event(agent.done)
    runner.close()

    assert agent.log == ["start", "raise", 2, "close"]
    assert any("cannot report ValueError('broken') of agent scripted" in text for text in caplog.messages)


def test_an_agent_that_cannot_start_is_reported_and_not_run(scripted):
    class Unstartable(scripted):
        def on_start(self):
            self.log.append("start")
            raise OSError("no memory")

    agent = Unstartable(answers=[1])
    errors = []
    runner = AgentRunner(PythonAgent(agent), YieldIdleStrategy(), errors.append)
    runner.start()
    runner.close()

    assert agent.log == ["start", "close"]
    assert [str(error) for error in errors] == ["no memory"]


def test_a_close_that_raises_is_reported(run, scripted):
    class Uncloseable(scripted):
        def on_close(self):
            raise OSError("cannot unlink")

    assert [str(error) for error in run(Uncloseable())] == ["cannot unlink"]


def test_the_idle_strategy_sees_each_work_count_and_is_woken_and_closed(run, scripted):
    idle = RecordingIdle()

    run(scripted(answers=[3, 0, 5]), PythonIdleStrategy(idle))

    assert idle.counts[:3] == [3, 0, 5]
    assert idle.calls == ["wake", "close"]


def test_a_runner_that_was_never_started_closes_its_agent(scripted):
    agent = scripted()

    AgentRunner(PythonAgent(agent), YieldIdleStrategy(), print).close()

    assert agent.log == ["close"]


def test_closing_twice_closes_the_agent_once(scripted, await_event):
    agent = scripted()
    runner = AgentRunner(PythonAgent(agent), YieldIdleStrategy(), print)
    runner.start()
    await_event(agent.done)

    runner.close()
    runner.close()

    assert agent.log == ["start", "close"]


def test_an_agent_may_close_its_own_runner(scripted, await_event):
    class ClosingItself(scripted):
        def do_work(self):
            self.runner.close()
            return super().do_work()

    agent = ClosingItself()
    agent.runner = AgentRunner(PythonAgent(agent), YieldIdleStrategy(), print)
    agent.runner.start()
    await_event(agent.done)
    agent.thread.join(10)

    assert agent.log == ["start", "close"]


def test_a_close_wakes_a_waiting_agent(scripted, await_event):
    agent = scripted()
    idle = SignalIdleStrategy("/aeron-core-test-runner", 60_000_000_000)
    runner = AgentRunner(PythonAgent(agent), idle, print)
    runner.start()
    await_event(agent.done)

    started = time.monotonic()
    runner.close()

    assert time.monotonic() - started < 10


def test_an_agent_that_sleeps_does_not_hold_the_gil(scripted, await_event):
    agent = scripted()
    runner = AgentRunner(PythonAgent(agent), SleepIdleStrategy(1_000_000_000), print)
    runner.start()
    await_event(agent.done)

    started = time.monotonic()
    sum(range(1000))

    assert time.monotonic() - started < 0.9
    runner.close()
