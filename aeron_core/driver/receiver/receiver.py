"""Receiver agent: polls the sockets, rebuilds images, and sends NAKs and status messages to senders.

A duty cycle takes the GIL only to call plain Python, such as a plugin's strategy or the callback of a logged channel.
All images and endpoints are borrowed references: the conductor keeps each one alive until it has received RELEASED for
it. If a stream raises, the next call of `do_work` continues with the one after it, so that a broken stream cannot
starve the others. Only active images are visited in every duty cycle: those that received data or moved lately, or have
data to read. Quiet ones wait for a timer or a packet.
Source: aeron_driver_receiver.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from aeron_core._native.pointers import PointerList, QuietList
from aeron_core.driver._native import operations
from aeron_core.driver.agents.data_agent import DataAgent
from aeron_core.driver.agents.polled_endpoints import PolledReceiveEndpoints
from aeron_core.driver.agents.stream_activity import StreamActivity, StreamTurns
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition
from aeron_core.driver.receiver.dispatcher import Dispatcher
from aeron_core.driver.receiver.publication_image import PublicationImage
from aeron_core.driver.receiver.stream_interest import StreamInterest
from aeron_core.spi.endpoints import ReceiveChannelEndpoint

if TYPE_CHECKING:
    from aeron_core._native.datagrams import ReceiveBatch
    from aeron_core.driver.agents.data_agent import AgentParams


class Receiver(DataAgent):
    """The receiver agent: images, receive endpoints and their commands; runs on one thread.

    `batch`: what endpoints receive datagrams into.
    """

    _next_image: int

    def __init__(self, params: AgentParams, batch: ReceiveBatch) -> None:
        super().__init__("receiver", params)
        self._endpoints = PolledReceiveEndpoints(batch)
        self._images = PointerList()
        self._active = PointerList()
        self._quiet = QuietList()
        self._quiet.joins = params.first_phase * operations.STREAMS_PER_PHASE  # type: ignore[attr-defined]
        self._turns = StreamTurns()

    def do_work(self) -> int:
        """Run one duty cycle; return the sum of commands, bytes received, gaps recovered and messages sent.

        What arrives for quiet images and changes nothing does not count, nor do their status messages. If more may have
        arrived, the result is not 0: while the agent slept, the buffer of a socket could overflow. Raises what an image
        or an endpoint raises.
        """
        now_ns = self._clock.nano_time()
        self._duty_cycle.measure_and_update(now_ns)
        work = self._drain_commands()
        # Receive before updating: a gap that these packets close is not requested, and the rebuild position includes
        # them at once.
        received = self._endpoints.poll(now_ns)
        if self._active.size > 0:
            work += received
        work += self._endpoints.take_full()
        return work + self._update_images(now_ns)

    def rest_ns(self, longest_ns: int) -> int:
        """See `Agent.rest_ns`."""
        if not self._endpoints.are_watched():
            return 0
        until_ns = self._quiet.earliest_ns
        for i in range(self._active.size):
            if not cython.cast(PublicationImage, self._active.at(i)).may_rest():
                return 0
            until_ns = min(
                until_ns, cython.cast(PublicationImage, self._active.at(i)).activity.next_timer_ns()
            )
        return max(0, min(until_ns - self._clock.nano_time(), longest_ns))

    def has_received(self) -> bool:
        """See `Agent.has_received`."""
        return self._endpoints.has_received

    def descriptors(self) -> list[int]:
        """See `Agent.descriptors`."""
        return [self._endpoints.descriptor]

    def _update_images(self, now_ns: int) -> int:
        work = 0
        self._quiet.begin(self._turns.begin(self._quiet.size, now_ns), False)
        item = self._quiet.take(now_ns)
        while item != cython.NULL:
            cython.cast(StreamActivity, item).wake()
            item = self._quiet.take(now_ns)
        while self._next_image < self._active.size:
            index = self._next_image
            # Advance first: if the image raises, the next call begins with the one after it.
            self._next_image += 1
            item = self._active.at(index)
            work += cython.cast(PublicationImage, item).track_rebuild(now_ns)
            messages = cython.cast(PublicationImage, item).send_pending(now_ns)
            if not cython.cast(PublicationImage, item).calm(now_ns):
                work += messages
            else:
                self._active.replace_by_last(index)
                self._next_image = index
        self._next_image = 0
        return work

    def _execute(self) -> int:
        operation = self._command.operation()
        target = self._command.target_pointer()
        if operation == operations.ADD_RECEIVE_ENDPOINT:
            self._endpoints.append(target)
        elif operation == operations.REMOVE_RECEIVE_ENDPOINT:
            self._endpoints.remove(target)
            self._release()
        # Commands on one image skip the dispatcher: it only routes frames to images.
        elif operation in (
            operations.ADD_IMAGE_SUBSCRIBER,
            operations.REMOVE_IMAGE_SUBSCRIBER,
            operations.ADD_IMAGE_CONNECTION,
            operations.REMOVE_IMAGE_CONNECTION,
            operations.RELEASE_PERMIT,
            operations.VISIT_IMAGE,
        ):
            self._execute_on_image()
        else:
            self._execute_on_dispatcher()
        return 0

    def _execute_on_dispatcher(self) -> int:
        operation = self._command.operation()
        dispatcher = self._command.target_pointer()
        subject = self._command.subject_pointer()
        first = self._command.number(0)
        second = self._command.number(1)
        if operation == operations.ADD_INTEREST:
            cython.cast(Dispatcher, dispatcher).add_interest(cython.cast(StreamInterest, subject))
        elif operation == operations.REMOVE_INTEREST:
            cython.cast(Dispatcher, dispatcher).remove_interest(cython.cast(StreamInterest, subject))
            self._release()
        elif operation == operations.SUBSCRIBE_ALL:
            cython.cast(Dispatcher, dispatcher).subscribe_all(cython.cast(StreamInterest, subject))
        elif operation == operations.UNSUBSCRIBE_ALL:
            cython.cast(Dispatcher, dispatcher).unsubscribe_all(cython.cast(StreamInterest, subject))
        elif operation == operations.SUBSCRIBE_SESSION:
            cython.cast(Dispatcher, dispatcher).subscribe_session(cython.cast(StreamInterest, subject), first)
        elif operation == operations.UNSUBSCRIBE_SESSION:
            cython.cast(Dispatcher, dispatcher).unsubscribe_session(
                cython.cast(StreamInterest, subject), first
            )
        elif operation == operations.ADD_IMAGE:
            self._silence_predecessors(cython.cast(PublicationImage, subject))
            self._images.append(subject)
            cython.cast(PublicationImage, subject).activity.join(self._active, self._quiet, subject)
            cython.cast(Dispatcher, dispatcher).add_image(cython.cast(PublicationImage, subject))
        elif operation == operations.REMOVE_IMAGE:
            # RELEASED comes last: from then on nothing on this thread refers to the image.
            self._images.remove(subject)
            cython.cast(PublicationImage, subject).activity.leave()
            cython.cast(Dispatcher, dispatcher).remove_image(cython.cast(PublicationImage, subject))
            self._release()
        elif operation == operations.REMOVE_COOL_DOWN:
            cython.cast(Dispatcher, dispatcher).remove_cool_down(first, second)
        elif operation == operations.ELICIT_SETUP:
            cython.cast(Dispatcher, dispatcher).elicit_setup(
                cython.cast(ReceiveChannelEndpoint, subject), first, second
            )
        elif operation == operations.FORGET_SESSION:
            cython.cast(Dispatcher, dispatcher).forget_session(first, second)
        return 0

    def _execute_on_image(self) -> int:
        operation = self._command.operation()
        image = self._command.target_pointer()
        position = self._command.subject_pointer()
        cython.cast(PublicationImage, image).activity.hurry()
        if operation == operations.ADD_IMAGE_CONNECTION:
            cython.cast(PublicationImage, image).connections.append(position)
        elif operation == operations.REMOVE_IMAGE_CONNECTION:
            cython.cast(PublicationImage, image).connections.remove(position)
            self._release()
        elif operation == operations.ADD_IMAGE_SUBSCRIBER:
            self._link(
                # LINKED carries the join position to the conductor, which then announces the image to the client.
                cython.cast(PublicationImage, image).add_subscriber(cython.cast(SubscriberPosition, position))
            )
        elif operation == operations.REMOVE_IMAGE_SUBSCRIBER:
            cython.cast(PublicationImage, image).subscribers.remove(cython.cast(SubscriberPosition, position))
            self._release()
        elif operation == operations.RELEASE_PERMIT:
            cython.cast(PublicationImage, image).stop_counting()
            self._release()
        return 0

    def _silence_predecessors(self, successor: PublicationImage) -> int:
        # An image without subscribers sends status messages with EOS before it is removed. The sender cannot
        # distinguish them from those of the newer image, and would forget the receiver.
        for i in range(self._images.size):
            image = self._images.at(i)
            if cython.cast(PublicationImage, image).is_of_stream_of(successor):
                cython.cast(PublicationImage, image).disable_status_messages()
        return 0
