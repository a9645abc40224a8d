"""Duty cycles of the conductor in a thread of its own: only if there is work."""

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core._native.commands import CommandRing
from aeron_core.agent.duty_cycle import DutyCycleTracker
from aeron_core.agent.invoker import AgentInvoker
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver.agents.conductor_input import ConductorInput
from aeron_core.driver.agents.data_agent import LONGEST_PAUSE_NS, ConductorAgent
from aeron_core.testing import make_counters

MS = 1_000_000
FAR_NS = 60_000 * MS


class Recorded:
    """A conductor that counts its duty cycles; `work` is their result, `next_ns` the time of its next work."""

    role_name = "conductor"

    def __init__(self):
        self.cycles = 0
        self.work = 0
        self.next_ns = FAR_NS

    def do_work(self):
        self.cycles += 1
        return self.work

    def pause_until_ns(self, now_ns):
        return self.next_ns


class Paused:
    """A conductor whose first duty cycle had no work."""

    def __init__(self):
        counters = make_counters("max", "exceeded")
        self.clock = Clock.manual(now_ns=1000 * MS)
        self.conductor = Recorded()
        self.ring = ManyToOneRingBuffer(AtomicBuffer.allocate(1024 + wire.RING_TRAILER_LENGTH))
        self.from_sender, self.from_receiver = CommandRing(4), CommandRing(4)
        agent = ConductorAgent(
            self.conductor,
            self.clock,
            DutyCycleTracker(counters["max"], counters["exceeded"], FAR_NS),
            ConductorInput(
                to_driver=self.ring.buffer,
                capacity=self.ring.capacity,
                from_senders=[self.from_sender],
                from_receiver=self.from_receiver,
            ),
        )
        self.errors = []
        self.invoker = AgentInvoker(agent, self.errors.append)
        self.invoker.do_work()
        self.conductor.cycles = 0

    def cycles_after(self, duration_ns):
        self.clock.advance(duration_ns)
        self.invoker.do_work()
        return self.conductor.cycles


@pytest.fixture
def paused():
    paused = Paused()
    yield paused
    assert paused.errors == []


def test_nothing_runs_while_nothing_arrives(paused):
    assert paused.cycles_after(50 * MS) == 0


def test_a_duty_cycle_runs_at_least_every_100_ms(paused):
    assert paused.cycles_after(LONGEST_PAUSE_NS) == 1


def test_a_duty_cycle_runs_when_its_timer_is_due(paused):
    paused.conductor.next_ns = paused.clock.nano_time() + 105 * MS
    paused.cycles_after(LONGEST_PAUSE_NS)

    assert paused.cycles_after(4 * MS) == 1
    assert paused.cycles_after(1 * MS) == 2


def test_a_command_of_a_client_that_does_not_ring_ends_the_pause(paused):
    assert paused.ring.write(wire.COMMAND_CLIENT_KEEPALIVE, bytes(16))

    assert paused.cycles_after(1) == 1


def test_a_command_that_is_claimed_and_not_complete_ends_the_pause(paused):
    assert paused.ring.try_claim(wire.COMMAND_CLIENT_KEEPALIVE, 16) > 0

    assert paused.cycles_after(1) == 1


@pytest.mark.parametrize("name", ["from_sender", "from_receiver"])
def test_an_event_of_an_agent_ends_the_pause(paused, name):
    getattr(paused, name).send(7)

    assert paused.cycles_after(1) == 1


def test_duty_cycles_follow_each_other_while_there_is_work(paused):
    paused.conductor.work = 1
    paused.cycles_after(LONGEST_PAUSE_NS)

    assert paused.cycles_after(1) == 2
    assert paused.cycles_after(1) == 3
