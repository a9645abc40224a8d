"""Commands to an agent: their order when the ring is full, and the lifetime of their objects."""

import gc
import weakref

import pytest

from aeron_core._native.commands import Command, CommandRing
from aeron_core.driver.conductor.agent_proxy import AgentProxy
from aeron_core.testing import make_counters

pytestmark = pytest.mark.usefixtures("few_objects")

ADD, REMOVE, RELEASED, LINKED = 1, 2, 3, 4


class Thing:
    """An object that is passed to an agent."""


class Agent:
    """The consumer of the ring; it confirms each removal at once."""

    def __init__(self, capacity=4):
        self.ring = CommandRing(capacity)
        self.fails = make_counters("fails")["fails"]
        self.proxy = AgentProxy(self.ring, self.fails)
        self._replies = CommandRing(64)
        self._command = Command()

    def take(self, limit=100):
        """Return the commands that have arrived, and confirm the removals among them."""
        taken = []
        while len(taken) < limit and self.ring.receive(self._command):
            command = self._command
            taken.append((command.code, command.target, command.subject, command.numbers[0]))
            if command.code == REMOVE:
                self._replies.send(RELEASED, command.target, command.subject, (command.code,))
        return taken

    def answer(self):
        reply = Command()
        while self._replies.receive(reply):
            self.proxy.on_released(reply)


@pytest.fixture
def agent():
    return Agent()


def is_alive(reference):
    gc.collect()
    return reference() is not None


def test_a_command_arrives_with_its_objects_and_numbers(agent):
    target, subject = Thing(), Thing()

    agent.proxy.send(ADD, target, subject, (42,))

    assert agent.take() == [(ADD, target, subject, 42)]


def test_commands_are_queued_in_order_while_the_ring_is_full(agent):
    target = Thing()

    for number in range(10):
        agent.proxy.send(ADD, target, None, (number,))
    assert not agent.proxy.is_idle
    assert agent.fails.get() > 0

    arrived = []
    while taken := agent.take():
        arrived += [number for *_, number in taken]
        agent.proxy.flush()
    assert arrived == list(range(10))
    assert agent.proxy.is_idle


def test_flush_returns_the_number_of_commands_sent(agent):
    for _ in range(7):
        agent.proxy.send(ADD, Thing())

    agent.take(limit=2)

    assert agent.proxy.flush() == 2
    assert agent.proxy.flush() == 0


def test_objects_stay_alive_until_the_agent_confirms_their_release(agent):
    target, subject = Thing(), Thing()
    references = weakref.ref(target), weakref.ref(subject)
    agent.proxy.send(ADD, target, subject)
    agent.take()
    agent.proxy.remove(REMOVE, target, subject)
    del target, subject

    agent.take()
    assert [is_alive(reference) for reference in references] == [True, True]
    agent.answer()

    assert [is_alive(reference) for reference in references] == [True, False]


def test_a_target_without_subject_is_released_by_its_own_removal(agent):
    target = Thing()
    reference = weakref.ref(target)
    agent.proxy.send(ADD, target)
    agent.proxy.remove(REMOVE, target)
    del target

    agent.take()
    agent.answer()

    assert not is_alive(reference)


def test_objects_of_queued_commands_stay_alive(agent):
    reference = weakref.ref(thing := Thing())
    for _ in range(4):
        agent.proxy.send(ADD, None)
    agent.proxy.send(ADD, thing)
    del thing

    assert is_alive(reference)


def test_the_callback_of_a_removal_runs_once_after_its_confirmation(agent):
    target, happened = Thing(), []
    agent.proxy.remove(REMOVE, target, then=lambda: happened.append("removed"))

    agent.take()
    assert (happened, agent.proxy.is_idle) == ([], False)
    agent.answer()
    agent.answer()

    assert (happened, agent.proxy.is_idle) == (["removed"], True)


def test_removals_of_several_subjects_of_one_target_are_distinguished(agent):
    target, subjects, happened = Thing(), [Thing(), Thing()], []
    for name, subject in zip("ab", subjects, strict=True):
        agent.proxy.remove(REMOVE, target, subject, then=lambda name=name: happened.append(name))

    agent.take(limit=1)
    agent.answer()
    assert happened == ["a"]
    agent.take()
    agent.answer()

    assert happened == ["a", "b"]


def test_the_callback_of_a_link_gets_the_position_that_the_agent_chose(agent):
    target, subject, chosen = Thing(), Thing(), []
    agent.proxy.link(ADD, target, subject, chosen.append)
    reply, replies = Command(), CommandRing(4)
    replies.send(LINKED, target, subject, (ADD,), (4096,))
    replies.receive(reply)
    agent.take()
    assert not agent.proxy.is_idle

    agent.proxy.on_linked(reply)

    assert chosen == [4096]
    assert agent.proxy.is_idle


def test_the_callback_of_a_removal_can_send_commands(agent):
    target, other = Thing(), Thing()
    agent.proxy.remove(REMOVE, target, then=lambda: agent.proxy.send(ADD, other))

    agent.take()
    agent.answer()

    assert [(code, target) for code, target, *_ in agent.take()] == [(ADD, other)]


def test_release_all_runs_pending_callbacks_and_those_that_they_add(agent):
    target, other, happened = Thing(), Thing(), []

    def removed():
        happened.append("target")
        agent.proxy.remove(REMOVE, other, then=lambda: happened.append("other"))

    agent.proxy.remove(REMOVE, target, then=removed)

    agent.proxy.release_all()

    assert happened == ["target", "other"]


def test_a_reference_can_be_dropped_without_a_removal(agent):
    target = Thing()
    reference = weakref.ref(target)
    agent.proxy.send(ADD, target)
    agent.take()
    del target

    agent.proxy.forget(reference())

    assert not is_alive(reference)
