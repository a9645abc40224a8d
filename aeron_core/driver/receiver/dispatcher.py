"""Dispatcher of a receive endpoint: finds the image of a frame, and requests an image for a new session.

    states of a session without an image:
        (unknown) ──data──► PENDING_SETUP ──SETUP──► INIT_IN_PROGRESS ──image added──► (image)
        (unknown) ──SETUP─────────────────────────► INIT_IN_PROGRESS ──creation failed──► (unknown)
        (image) ──removed before its end──► COOL_DOWN ──image lingers, rejoin; silent, others need space──► (unknown)
        (unknown) ──data or SETUP, session not subscribed──► NO_INTEREST ──subscribed, or forgotten──► (unknown)
        (unknown), PENDING_SETUP ──SETUP, too many sessions──► REFUSED
        (unknown), PENDING_SETUP ──SETUP, no permit (see `awaited_images`)──► (the same)

PENDING_SETUP lasts one second, or 100 ms after a SETUP without a permit; then the next data frame elicits a SETUP
again.
REFUSED lasts one second too, so that a persistent sender is reported to the conductor at most once a second.
Invariant: images and interests are borrowed; the conductor keeps them alive until their removal is confirmed.
Source: aeron_data_packet_dispatcher.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.commands import Command
from aeron_core._native.pointers import PointerMap
from aeron_core.driver._native import operations
from aeron_core.driver.agents.rate_limit import RateLimit
from aeron_core.driver.receiver.publication_image import PublicationImage
from aeron_core.driver.receiver.stream_interest import StreamInterest, is_expired
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.endpoints import ReceiveDispatcher

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.commands import CommandRing
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.receiver.awaited_images import AwaitedImages
    from aeron_core.protocol.frames.rttm import Rttm
    from aeron_core.protocol.frames.setup import Setup
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint


class Dispatcher(ReceiveDispatcher):
    """The streams of one receive endpoint; used by the receiver only."""

    def __init__(
        self,
        conductor: CommandRing,
        counters: SystemCounters,
        session_limit: int,
        awaited: AwaitedImages,
    ) -> None:
        self._interests = PointerMap()
        self._counters = counters
        self._conductor = conductor
        self._event = Command()
        self._elicitation = StatusMessage()
        self._elicitation.flags = wire.SM_FLAG_SEND_SETUP
        self._no_address = SocketAddress()
        self._session_limit = session_limit
        self._awaited = awaited
        self._refusals = RateLimit(operations.REFUSALS, operations.REFUSAL_INTERVAL_NS)

    def on_data(  # noqa: PLR0913
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        """See `ReceiveDispatcher.on_data`."""
        found = self._interests.get(buffer.get_i32(offset + wire.DATA_STREAM_ID_OFFSET))
        if found == cython.NULL:
            # Not subscribed: datagrams of a group or of a shared port may be of any stream. Send no reply, so that the
            # sender does not take this host for a receiver.
            return 0
        session_id = buffer.get_i32(offset + wire.DATA_SESSION_ID_OFFSET)
        image = cython.cast(StreamInterest, found)._images.get(session_id)
        if image != cython.NULL:
            return cython.cast(PublicationImage, image).insert_packet(
                endpoint,
                buffer,
                offset,
                length,
                buffer.get_i32(offset + wire.DATA_TERM_ID_OFFSET),
                buffer.get_i32(offset + wire.DATA_TERM_OFFSET_OFFSET),
                source,
                now_ns,
            )
        if buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_EOS:
            # The stream has ended: an image would receive nothing.
            return 0
        return self._on_unknown_session(
            endpoint, cython.cast(StreamInterest, found), session_id, source, now_ns
        )

    def _on_unknown_session(
        self,
        endpoint: ReceiveChannelEndpoint,
        interest: StreamInterest,
        session_id: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        # In every state but UNKNOWN the session was handled already: a SETUP is requested again when PENDING_SETUP or
        # REFUSED expires, not for each data frame.
        state = interest._states.get(session_id, operations.SESSION_UNKNOWN)
        if state != operations.SESSION_UNKNOWN and not is_expired(state, now_ns):
            return interest.extend_cool_down(session_id, state, now_ns)
        # Each new session id takes memory, and ids may be forged: sessions beyond the limit are ignored.
        if not interest.has_capacity(now_ns):
            return 0
        if not interest.wants(session_id):
            return interest.set_no_interest(session_id, now_ns)
        # Data alone cannot create an image: term length and mtu are only in a SETUP, so request one.
        interest.set_until(session_id, operations.SESSION_PENDING_SETUP, now_ns)
        return self._elicit_setup(endpoint, session_id, interest.stream_id, source)

    def _elicit_setup(
        self, endpoint: ReceiveChannelEndpoint, session_id: int, stream_id: int, source: SocketAddress
    ) -> int:
        # SEND_SETUP is the only flag: the message has no position and no window. The publication does not count its
        # source as a receiver; an endpoint with dynamic destinations adds the source as a destination.
        self._elicitation.session_id = session_id
        self._elicitation.stream_id = stream_id
        if endpoint.send_status_message(self._elicitation, source) > 0:
            self._counters.status_messages_sent.increment_release()
        return 0

    def elicit_setup(self, endpoint: ReceiveChannelEndpoint, session_id: int, stream_id: int) -> int:
        """Request a SETUP at the control address of an endpoint; session and stream 0 stand for any. Return 0."""
        return self._elicit_setup(endpoint, session_id, stream_id, self._no_address)

    def on_setup(
        self, endpoint: ReceiveChannelEndpoint, setup: Setup, source: SocketAddress, now_ns: int
    ) -> int:
        """Request an image from the conductor for a subscribed session without one; return 0.

        Ignored while the session is in INIT_IN_PROGRESS, COOL_DOWN or REFUSED (see the module), and if too many
        sessions are tracked. Refused if the stream has too many images or a limit of `AwaitedImages` is reached. A
        SETUP of a session with an image refreshes the liveness of the connection on which it arrived.
        """
        found = self._interests.get(setup.stream_id)
        if found == cython.NULL:
            return 0
        image = cython.cast(StreamInterest, found)._images.get(setup.session_id)
        if image != cython.NULL:
            # The image exists: this SETUP is repeated, but may have arrived on another path.
            return cython.cast(PublicationImage, image).connections.on_setup(endpoint, source, now_ns)
        state = cython.cast(StreamInterest, found)._states.get(setup.session_id, operations.SESSION_UNKNOWN)
        # PENDING_SETUP waits for exactly this frame. The other states stand until they expire or the conductor ends
        # them.
        if (
            state != operations.SESSION_UNKNOWN
            and (state & operations.SESSION_STATE_MASK) != operations.SESSION_PENDING_SETUP
            and not is_expired(state, now_ns)
        ) or not cython.cast(StreamInterest, found).has_capacity(now_ns):
            return 0
        if not cython.cast(StreamInterest, found).wants(setup.session_id):
            return cython.cast(StreamInterest, found).set_no_interest(setup.session_id, now_ns)
        return self._request_image(endpoint, cython.cast(StreamInterest, found), setup, source, now_ns)

    def _request_image(
        self,
        endpoint: ReceiveChannelEndpoint,
        interest: StreamInterest,
        setup: Setup,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        if interest.is_at_limit(self._session_limit):
            interest.set_until(setup.session_id, operations.SESSION_REFUSED, now_ns)
            return self._refuse(endpoint, setup, source, operations.SESSION_REFUSED_BY_LIMIT, now_ns)
        permit = self._awaited.take(source, now_ns)
        if permit < 0:
            # No state is added: a sender without receivers repeats its SETUP, and one with receivers is asked again.
            interest.expire_pending_soon(setup.session_id, now_ns)
            return self._refuse(endpoint, setup, source, permit, now_ns)
        # If the ring is full, keep the state: the sender's next SETUP tries again.
        if not self._report(operations.CREATE_IMAGE, endpoint, setup, source, 0):
            self._awaited.release(permit)
            return self._awaited.stop_counting(permit)
        return interest.set_in_progress(setup.session_id, permit)

    def _refuse(
        self,
        endpoint: ReceiveChannelEndpoint,
        setup: Setup,
        source: SocketAddress,
        reason: int,
        now_ns: int,
    ) -> int:
        # A flood of SETUPs must not become a flood of events, which would delay the other work of the conductor.
        if self._refusals.take(now_ns):
            self._report(operations.CREATE_IMAGE_REFUSED, endpoint, setup, source, reason)
        return 0

    def _report(
        self,
        operation: int,
        endpoint: ReceiveChannelEndpoint,
        setup: Setup,
        source: SocketAddress,
        reason: int,
    ) -> bool:
        self._event.begin(operation, cython.cast(cython.pointer(PyObject), endpoint))
        self._event.set_subject(cython.cast(cython.pointer(PyObject), self))
        self._event.set_number(0, setup.session_id)
        self._event.set_number(1, setup.stream_id)
        self._event.set_number(2, setup.initial_term_id)
        self._event.set_number(3, setup.active_term_id)
        self._event.set_number(4, setup.term_offset)
        self._event.set_number(5, setup.term_length)
        self._event.set_number(6, setup.mtu)
        self._event.set_number(7, setup.flags)
        self._event.set_value(0, setup.ttl)
        self._event.set_value(1, reason)
        # Answers go to the control address, here the source; an endpoint with a fixed one uses that instead.
        self._event.source.assign(source)
        self._event.control.assign(source)
        if self._conductor.offer(self._event):
            return True
        self._counters.conductor_proxy_fails.get_and_add(1)
        return False

    def on_rttm(
        self, endpoint: ReceiveChannelEndpoint, rttm: Rttm, source: SocketAddress, now_ns: int
    ) -> int:
        """Pass a measurement, or a reply to one, to its image; return its result, 0 without an image."""
        found = self._interests.get(rttm.stream_id)
        if found == cython.NULL:
            return 0
        image = cython.cast(StreamInterest, found)._images.get(rttm.session_id)
        if image == cython.NULL:
            return 0
        return cython.cast(PublicationImage, image).measurements.on_rttm(rttm, now_ns)

    def wanted_streams(self, session_id: int, into: AtomicBuffer) -> int:
        """See `ReceiveDispatcher.wanted_streams`."""
        count = 0
        for slot in range(self._interests.capacity()):
            if (
                (count + 1) * 4 <= into.capacity
                and self._interests.is_used(slot)
                and cython.cast(StreamInterest, self._interests.at_slot(slot)).wants(session_id)
            ):
                into.put_i32(count * 4, self._interests.key_at(slot))
                count += 1
        return count

    def consumed_position(self, session_id: int, stream_id: int) -> int:
        """See `ReceiveDispatcher.consumed_position`."""
        found = self._interests.get(stream_id)
        if found == cython.NULL:
            return wire.NO_POSITION
        image = cython.cast(StreamInterest, found)._images.get(session_id)
        if image == cython.NULL:
            return wire.NO_POSITION
        return cython.cast(PublicationImage, image).consumed_position()

    def add_interest(self, interest: StreamInterest) -> int:
        """Add a borrowed interest in a stream id; return the number of interests. Subscriptions to it follow."""
        return self._interests.put(interest.stream_id, cython.cast(cython.pointer(PyObject), interest))

    def remove_interest(self, interest: StreamInterest) -> int:
        """Remove the interest in a stream id without subscriptions; return 0."""
        self._interests.remove(interest.stream_id)
        return 0

    def subscribe_all(self, interest: StreamInterest) -> int:
        """Subscribe to all sessions of a stream; return 0."""
        interest._is_all_sessions = True
        # With time 0 only sessions in NO_INTEREST are stale: there is a subscription to them now.
        return interest.forget_stale(0)

    def unsubscribe_all(self, interest: StreamInterest) -> int:
        """Keep only the subscriptions to single sessions of a stream, and route no other sessions; return 0."""
        return interest.unsubscribe_all()

    def subscribe_session(self, interest: StreamInterest, session_id: int) -> int:
        """Subscribe to one session of a stream; return 0."""
        # Only NO_INTEREST is dropped: an image may be in progress for another subscription.
        interest._sessions.put(session_id, 1)
        if interest._states.get(session_id, operations.SESSION_UNKNOWN) == operations.SESSION_NO_INTEREST:
            interest.forget(session_id)
        return 0

    def unsubscribe_session(self, interest: StreamInterest, session_id: int) -> int:
        """Remove the subscription to one session; without one to all, stop routing its frames. Return 0."""
        interest._sessions.remove(session_id)
        if not interest._is_all_sessions:
            interest._images.remove(session_id)
            interest.forget(session_id)
        return 0

    def add_image(self, image: PublicationImage) -> int:
        """Route the frames of a session to its image; return the number of images of its stream id.

        Returns 0, and routes nothing, if the stream is no longer subscribed.
        """
        found = self._interests.get(image.stream_id)
        if found == cython.NULL:
            return 0
        # INIT_IN_PROGRESS ends here: from now on frames are routed to the image, which also releases its permit.
        image.await_data(cython.cast(StreamInterest, found).hand_over(image.session_id))
        return cython.cast(StreamInterest, found)._images.put(
            image.session_id, cython.cast(cython.pointer(PyObject), image)
        )

    def remove_image(self, image: PublicationImage) -> int:
        """Stop routing to an image, unless a newer one replaced it; return 0.

        A session that had not ended gets no new image during its cool-down.
        """
        found = self._interests.get(image.stream_id)
        if found == cython.NULL:
            return 0
        # A newer image of the same session may have replaced this one: leave it.
        if cython.cast(StreamInterest, found)._images.get(image.session_id) != cython.cast(
            cython.pointer(PyObject), image
        ):
            return 0
        cython.cast(StreamInterest, found)._images.remove(image.session_id)
        # The sender may still be active: without a cool-down its next frame would create an image at once, and
        # subscribers would see the stream end and restart repeatedly.
        if not image.is_end_of_stream.get_acquire():
            return cython.cast(StreamInterest, found).set_cool_down(
                image.session_id, image.time_of_last_packet_ns.get_acquire()
            )
        return 0

    def remove_cool_down(self, session_id: int, stream_id: int) -> int:
        """End the cool-down of a session, if there is one: it may get a new image. Return 0."""
        found = self._interests.get(stream_id)
        if found != cython.NULL and cython.cast(StreamInterest, found).is_cooling_down(session_id):
            cython.cast(StreamInterest, found).forget(session_id)
        return 0

    def forget_session(self, session_id: int, stream_id: int) -> int:
        """Forget a session whose image the conductor did not create: its next SETUP tries again. Return 0."""
        found = self._interests.get(stream_id)
        if found != cython.NULL and cython.cast(StreamInterest, found).is_in_progress(session_id):
            cython.cast(StreamInterest, found).forget(session_id)
        return 0
