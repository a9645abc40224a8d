"""Sender agent: sends publications, polls the sockets for frames of receivers, and moves publisher limits.

A duty cycle takes the GIL only to call plain Python, such as a plugin's strategy or the callback of a logged channel.
All publications and endpoints are borrowed references: the conductor keeps each one alive until it has received
RELEASED for it. If a stream raises, the next call of `do_work` continues with the one after it, so that a broken stream
cannot starve the others. Only active streams are visited in every duty cycle: those that moved lately, have something
to send or to read, or received a frame. Quiet ones wait for a timer or a message: their logs are looked at in turns,
those of publishers that ring only until the bell is armed.
Source: aeron_driver_sender.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from aeron_core._native.pointers import PointerList, QuietList
from aeron_core.driver._native import operations
from aeron_core.driver.agents.data_agent import DataAgent
from aeron_core.driver.agents.polled_endpoints import PolledSendEndpoints
from aeron_core.driver.agents.stream_activity import StreamActivity, StreamTurns
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
from aeron_core.driver.sender.control_frames import HeartbeatBunch
from aeron_core.driver.sender.ipc_publication import IpcPublication
from aeron_core.driver.sender.sending_publication import SendingPublication

if TYPE_CHECKING:
    from aeron_core._native.datagrams import ReceiveBatch
    from aeron_core.driver.agents.data_agent import AgentParams


class Sender(DataAgent):
    """The sender agent: publications, send endpoints and their commands; runs on one thread.

    `batch`: what endpoints receive datagrams into. `number`: 0 for the first sender of a driver, "sender"; the next is
    "sender-2".
    """

    _is_heard: bool
    _must_look: bool
    _round_robin: int
    _sends_since_poll: int
    _next_to_send: int
    _next_limit: int
    _next_ipc_limit: int

    def __init__(
        self, params: AgentParams, heartbeats: HeartbeatBunch, batch: ReceiveBatch, number: int = 0
    ) -> None:
        super().__init__("sender" if number == 0 else f"sender-{number + 1}", params)
        self._heartbeats = heartbeats
        self._endpoints = PolledSendEndpoints(batch)
        self._active = PointerList()
        self._active_ipc = PointerList()
        self._quiet = QuietList()
        self._quiet.joins = params.first_phase * operations.STREAMS_PER_PHASE  # type: ignore[attr-defined]
        self._turns = StreamTurns()
        self._poll_ratio = params.send_to_status_poll_ratio
        # Source: aeron_driver_sender.c: sockets are polled at least twice per status message interval.
        self._poll_interval_ns = params.status_message_timeout_ns >> 1
        self._poll_deadline_ns = 0

    def do_work(self) -> int:
        """Run one duty cycle; return the sum of commands, frames received, bytes sent and publisher limits changed.

        Heartbeats, SETUP and RTTM frames and retransmissions do not count, nor do frames for quiet streams that have
        changed nothing. If more frames may have arrived, the result is not 0. Raises what a stream or an endpoint
        raises.
        """
        now_ns = self._clock.nano_time()
        self._duty_cycle.measure_and_update(now_ns)
        # Of a cycle that a stream ended by raising, before a command can remove their endpoint.
        self._heartbeats.flush()
        work = self._drain_commands()
        self._activate(now_ns)
        sent = self._send(now_ns)
        # While there is data to send, poll the sockets less often, but often enough for status messages to arrive
        # before the window is used up.
        self._sends_since_poll += 1
        if sent == 0 or self._sends_since_poll >= self._poll_ratio or now_ns > self._poll_deadline_ns:
            frames = self._endpoints.poll(now_ns)
            if self._active.size > 0:
                work += frames
            work += self._endpoints.take_full()
            self._sends_since_poll = 0
            self._poll_deadline_ns = now_ns + self._poll_interval_ns
        return work + sent + self._update_limits(now_ns)

    def rest_ns(self, longest_ns: int) -> int:
        """See `Agent.rest_ns`."""
        if not self._endpoints.are_watched() or self._quiet.restless > 0:
            return 0
        until_ns = self._quiet.earliest_ns
        for i in range(self._active.size):
            if not cython.cast(SendingPublication, self._active.at(i)).may_rest():
                return 0
            until_ns = min(
                until_ns, cython.cast(SendingPublication, self._active.at(i)).activity.next_timer_ns()
            )
        # Those of IPC have no timers.
        for i in range(self._active_ipc.size):
            if not cython.cast(IpcPublication, self._active_ipc.at(i)).may_rest():
                return 0
        return max(0, min(until_ns - self._clock.nano_time(), longest_ns))

    def attend(self, is_heard: bool) -> int:
        """See `Agent.attend`."""
        self._is_heard = is_heard
        self._must_look = True
        return 0

    def has_received(self) -> bool:
        """See `Agent.has_received`."""
        return self._endpoints.has_received

    def descriptors(self) -> list[int]:
        """See `Agent.descriptors`."""
        return [self._endpoints.descriptor]

    def _activate(self, now_ns: int) -> int:
        count = self._turns.begin(self._quiet.size, now_ns)
        if self._must_look:
            count = self._quiet.size
        self._quiet.begin(count, self._must_look or not self._is_heard)
        self._must_look = False
        item = self._quiet.take(now_ns)
        while item != cython.NULL:
            cython.cast(StreamActivity, item).wake()
            item = self._quiet.take(now_ns)
        return 0

    def _send(self, now_ns: int) -> int:
        # Each cycle begins with another publication (round robin), so that none can starve the others.
        count = self._active.size
        sent = 0
        if self._next_to_send == 0:
            self._round_robin += 1
        if self._round_robin >= count:
            self._round_robin = 0
        while self._next_to_send < count:
            index = self._round_robin + self._next_to_send
            if index >= count:
                index -= count
            # Advance first: if the stream raises, the next call begins with the one after it.
            self._next_to_send += 1
            sent += cython.cast(SendingPublication, self._active.at(index)).send_pending(now_ns)
        self._next_to_send = 0
        self._heartbeats.flush()
        return sent

    def _update_limits(self, now_ns: int) -> int:
        # The conductor does this in the reference. Here it must not depend on the GIL, which an application thread
        # can hold for long.
        work = 0
        while self._next_limit < self._active.size:
            index = self._next_limit
            self._next_limit += 1
            item = self._active.at(index)
            work += cython.cast(SendingPublication, item).update_limit(now_ns)
            if cython.cast(SendingPublication, item).calm(now_ns):
                self._active.replace_by_last(index)
                self._next_limit = index
        while self._next_ipc_limit < self._active_ipc.size:
            index = self._next_ipc_limit
            self._next_ipc_limit += 1
            item = self._active_ipc.at(index)
            work += cython.cast(IpcPublication, item).update_limit(now_ns)
            if cython.cast(IpcPublication, item).calm(now_ns):
                self._active_ipc.replace_by_last(index)
                self._next_ipc_limit = index
        self._next_limit = 0
        self._next_ipc_limit = 0
        return work

    def _execute(self) -> int:
        operation = self._command.operation()
        target = self._command.target_pointer()
        if operation == operations.ADD_NETWORK_PUBLICATION:
            cython.cast(SendingPublication, target).activity.join(self._active, self._quiet, target)
            cython.cast(SendingPublication, target).endpoint.add_stream(
                cython.cast(SendingPublication, target)
            )
        elif operation == operations.REMOVE_NETWORK_PUBLICATION:
            cython.cast(SendingPublication, target).activity.leave()
            cython.cast(SendingPublication, target).endpoint.remove_stream(
                cython.cast(SendingPublication, target)
            )
            # RELEASED is sent when no list has the pointer any more: the conductor may free the object at once.
            self._release()
        elif operation == operations.ADD_IPC_PUBLICATION:
            cython.cast(IpcPublication, target).activity.join(self._active_ipc, self._quiet, target)
        elif operation == operations.REMOVE_IPC_PUBLICATION:
            cython.cast(IpcPublication, target).activity.leave()
            self._release()
        elif operation == operations.VISIT_NETWORK_PUBLICATION:
            cython.cast(SendingPublication, target).activity.hurry()
        elif operation == operations.VISIT_IPC_PUBLICATION:
            cython.cast(IpcPublication, target).activity.hurry()
        elif operation in (operations.ADD_SEND_ENDPOINT, operations.REMOVE_SEND_ENDPOINT):
            self._execute_on_endpoint()
        else:
            self._execute_on_subscriber()
        return 0

    def _execute_on_endpoint(self) -> int:
        if self._command.operation() == operations.ADD_SEND_ENDPOINT:
            self._endpoints.append(self._command.target_pointer())
            return 0
        self._endpoints.remove(self._command.target_pointer())
        return self._release()

    def _execute_on_subscriber(self) -> int:
        operation = self._command.operation()
        target = self._command.target_pointer()
        position = self._command.subject_pointer()
        if operation in (operations.ADD_SPY, operations.REMOVE_SPY):
            cython.cast(SendingPublication, target).activity.wake()
        else:
            cython.cast(IpcPublication, target).activity.wake()
        if operation == operations.ADD_SPY:
            self._link(
                cython.cast(SendingPublication, target).add_spy(cython.cast(SubscriberPosition, position))
            )
        elif operation == operations.REMOVE_SPY:
            cython.cast(SendingPublication, target).spies.remove(cython.cast(SubscriberPosition, position))
            self._release()
        elif operation == operations.ADD_IPC_SUBSCRIBER:
            self._link(
                cython.cast(IpcPublication, target).add_subscriber(cython.cast(SubscriberPosition, position))
            )
        elif operation == operations.REMOVE_IPC_SUBSCRIBER:
            cython.cast(IpcPublication, target).subscribers.remove(cython.cast(SubscriberPosition, position))
            self._release()
        return 0
