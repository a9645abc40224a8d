"""Base of sender and receiver: the conductor's commands, and the agent's answers to them. The agent of the conductor.

Commands come on one ring, answers go back on another. Objects in commands are borrowed: the conductor keeps each one
alive until it has received RELEASED for it, or for the object that it belongs to.
Invariant: no answer is lost. If the ring is full, the answer waits in `Answers`, and the agent takes no further
command until it is sent: the conductor may close a socket only after it received the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.commands import Command, CommandRing
from aeron_core._native.pointers import PointerList
from aeron_core.agent.agent import Agent, PythonAgent
from aeron_core.driver._native import operations
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core.agent.duty_cycle import DutyCycleTracker
    from aeron_core.driver.agents.conductor_input import ConductorInput, PausingAgent


#: Longest time without a duty cycle of the conductor. Invented: timers of plugins may rely on this.
LONGEST_PAUSE_NS: Final = 100_000_000


@frozen(kw_only=True)
class AgentParams:
    """Parameters of a data agent: `commands` is the ring from the conductor, `conductor` the ring to it.

    `send_to_status_poll_ratio`: the sender's duty cycles with data sent per poll of its sockets, from 1 to 255; the
    receiver uses neither this nor `status_message_timeout_ns`. Source of the default: AERON_SEND_TO_STATUS_POLL_RATIO.
    `first_phase`: that of the first stream, from 0 to 65,535; see `StreamActivity.due_ns`.
    """

    clock: Clock
    duty_cycle: DutyCycleTracker
    commands: CommandRing
    conductor: CommandRing
    status_message_timeout_ns: int
    send_to_status_poll_ratio: int = 6
    first_phase: int = 0


class Answers:
    """The answers of one agent to the conductor, to one command at a time; used on the thread of the agent."""

    _is_waiting: bool

    def __init__(self, conductor: CommandRing) -> None:
        self._conductor = conductor
        self._answer = Command()

    def flush(self) -> bool:
        """Send a waiting answer if the ring has space; return whether the agent may take its next command."""
        if self._is_waiting and self._conductor.offer(self._answer):
            self._is_waiting = False
        return not self._is_waiting

    def send(self, command: Command, code: int, value: int) -> int:
        """Answer a command with `code`, RELEASED or LINKED: now, or by a later `flush` if the ring is full; return 0.

        Call at most once per command. `value` is the join position of LINKED, else 0.
        """
        self._answer.begin(code, command.target_pointer())
        # The answer repeats operation, target and subject: by these the conductor finds the command it belongs to.
        self._answer.set_number(0, command.operation())
        self._answer.set_subject(command.subject_pointer())
        self._answer.set_value(0, value)
        self._is_waiting = not self._conductor.offer(self._answer)
        return 0


class ConductorAgent(PythonAgent):
    """Runs the conductor, but takes the GIL only if there is work for it.

    It is written in Python: while its thread wakes up for clients that do not ring, a duty cycle would take most of the
    processor time of an idle driver.
    """

    _pause_until_ns: int  # 0 in a new object of the compiled class

    def __init__(
        self, conductor: PausingAgent, clock: Clock, duty_cycle: DutyCycleTracker, given: ConductorInput
    ) -> None:
        super().__init__(conductor, can_rest=True)
        self._clock = clock
        self._duty_cycle = duty_cycle
        self._to_driver = given.to_driver
        self._tail_offset = given.capacity + wire.RING_TAIL_OFFSET
        self._head_offset = given.capacity + wire.RING_HEAD_OFFSET
        self._kept = tuple(given.from_senders)
        self._from_senders = PointerList()
        for ring in self._kept:
            self._from_senders.append(cython.cast(cython.pointer(PyObject), ring))
        self._from_receiver = given.from_receiver
        self._longest_pause_ns = LONGEST_PAUSE_NS

    def do_work(self) -> int:
        """See `Agent.do_work`."""
        now_ns = self._clock.nano_time()
        if now_ns < self._pause_until_ns and self._is_quiet():
            self._duty_cycle.measure_and_update(now_ns)
            return 0
        # If the conductor raises, it does not pause.
        self._pause_until_ns = 0
        with cython.gil:
            return self._run(now_ns)

    def _run(self, now_ns: int) -> int:
        work: int = self._delegate.do_work()
        if work == 0:
            self._pause_until_ns = min(self._delegate.pause_until_ns(now_ns), now_ns + self._longest_pause_ns)  # type: ignore[attr-defined]
        return work

    def _is_quiet(self) -> bool:
        # The tail moves when a client claims its command: until the command is complete and read, it is not quiet.
        return (
            self._to_driver.get_i64_acquire(self._tail_offset)
            == self._to_driver.get_i64_acquire(self._head_offset)
            and self._has_no_events()
        )

    def _has_no_events(self) -> bool:
        for i in range(self._from_senders.size):
            if not cython.cast(CommandRing, self._from_senders.at(i)).is_empty():
                return False
        return self._from_receiver.is_empty()


class DataAgent(Agent):
    """An agent that executes commands of the conductor; subclasses define `_execute`."""

    def __init__(self, role_name: str, params: AgentParams) -> None:
        super().__init__(role_name)
        self._clock = params.clock
        self._duty_cycle = params.duty_cycle
        self._commands = params.commands
        self._answers = Answers(params.conductor)
        self._command = Command()

    def _drain_commands(self) -> int:
        work = 0
        # A bounded number per duty cycle, so that a burst of commands does not delay the streams. An unsent answer
        # stops the loop: it must not be overwritten by the next one.
        while (
            work < operations.COMMAND_DRAIN_LIMIT
            and self._answers.flush()
            and self._commands.poll(self._command)
        ):
            self._execute()
            work += 1
        return work

    def _execute(self) -> int:
        """Execute `_command`; return 0."""
        return 0

    def _release(self) -> int:
        return self._answers.send(self._command, operations.RELEASED, 0)

    def _link(self, join_position: int) -> int:
        return self._answers.send(self._command, operations.LINKED, join_position)
