"""Answers of an agent to the conductor: none is lost and they keep their order, even if the conductor is slow."""

import pytest

from aeron_core._native.clock import Clock
from aeron_core._native.commands import Command, CommandRing
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.agent.duty_cycle import DutyCycleTracker
from aeron_core.agent.invoker import AgentInvoker
from aeron_core.driver._native import operations
from aeron_core.driver.agents.data_agent import AgentParams
from aeron_core.driver.receiver.receiver import Receiver
from aeron_core.driver.sender.control_frames import HeartbeatBunch
from aeron_core.driver.sender.sender import Sender
from aeron_core.testing import make_counters

CAPACITY = 4


class Stepped:
    """An agent between two rings, stepped by the test."""

    def __init__(self, kind):
        counters = make_counters("max", "exceeded")
        self.commands, self.answers = CommandRing(64), CommandRing(CAPACITY)
        self.errors = []
        agent = kind(
            AgentParams(
                clock=Clock.manual(),
                duty_cycle=DutyCycleTracker(counters["max"], counters["exceeded"], 1_000_000_000),
                commands=self.commands,
                conductor=self.answers,
                status_message_timeout_ns=200_000_000,
            )
        )
        self._invoker = AgentInvoker(agent, self.errors.append)

    def do_work(self, cycles):
        for _ in range(cycles):
            self._invoker.do_work()
        assert self.errors == []

    def take(self, count):
        """Return the objects of the next answers."""
        answer, taken = Command(), []
        while len(taken) < count and self.answers.receive(answer):
            assert answer.code == operations.RELEASED
            taken.append(answer.target)
        return taken


@pytest.fixture(
    params=[
        (
            lambda params: Sender(params, HeartbeatBunch(make_counters("short")["short"]), ReceiveBatch()),
            operations.REMOVE_SEND_ENDPOINT,
        ),
        (lambda params: Receiver(params, ReceiveBatch()), operations.REMOVE_RECEIVE_ENDPOINT),
    ],
    ids=["sender", "receiver"],
)
def stepped_after_removals(request):
    kind, operation = request.param
    stepped = Stepped(kind)
    things = [object() for _ in range(20)]
    for thing in things:
        stepped.commands.send(operation, thing)
    return stepped, things


def test_no_answer_is_lost_while_the_conductor_reads_none(stepped_after_removals):
    stepped, things = stepped_after_removals
    stepped.do_work(cycles=10)

    answered = []
    while taken := stepped.take(CAPACITY):
        answered += taken
        stepped.do_work(cycles=1)

    assert answered == things


def test_no_command_is_taken_while_an_answer_waits(stepped_after_removals):
    stepped, things = stepped_after_removals

    stepped.do_work(cycles=10)

    assert stepped.answers.size == CAPACITY
    assert stepped.commands.size == len(things) - CAPACITY - 1
