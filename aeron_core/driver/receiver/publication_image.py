"""Receive side of one stream: rebuilds terms from frames that arrive in any order.

    hwm position      highest position received, or stated by a heartbeat
    rebuild position  position up to which the last scan found no gap; subscribers may have read further since
    status message    carries the consumed position and the window beyond it to the sender

Not here: which image a frame belongs to (`dispatcher`), recovery of gaps (`loss_recovery`), and the lifecycle of an
image, which the conductor runs.
Invariant: only the receiver thread writes `rebuild_position`; it never decreases.
Source: aeron_publication_image.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import pointers, positions, wire
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.park import Bell
from aeron_core.driver._native import operations
from aeron_core.driver.agents.stream_activity import RARE_NS, StreamActivity
from aeron_core.driver.agents.subscriber_positions import SubscriberPosition, SubscriberPositions
from aeron_core.driver.receiver.image_connections import ImageConnections
from aeron_core.driver.receiver.image_measurements import ImageMeasurements
from aeron_core.driver.receiver.loss_recovery import LossRecovery
from aeron_core.errors import ErrorCode
from aeron_core.logbuffer.cleaner import clean_step
from aeron_core.logbuffer.rebuilder import insert
from aeron_core.protocol.frames.data import validate_data_packet
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.congestion_control import RebuildState

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.driver.receiver.image_params import ImageParams
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint


class PublicationImage:
    """One stream that is received; methods run on the receiver unless they name the conductor."""

    _last_response_session: int

    def __init__(self, params: ImageParams) -> None:
        self.correlation_id = params.correlation_id
        self.session_id = params.session_id
        self.stream_id = params.stream_id
        self.endpoint = params.endpoint
        self.log = params.log
        self.hwm_position = params.hwm_position
        self.rebuild_position = params.rebuild_position
        self.subscribers = SubscriberPositions()
        self.is_end_of_stream = AtomicLong()
        # Creation counts as a packet, so that the liveness timeout begins with it.
        self.time_of_last_packet_ns = AtomicLong(params.now_ns)
        self.is_draining = AtomicLong()
        self.awaits_data = AtomicLong()
        self._awaited = params.awaited
        self._permit = operations.NO_PERMIT
        self._counted_permit = operations.NO_PERMIT
        self._is_rejected = AtomicLong()
        self._response_session = AtomicLong()
        self._counters = params.system_counters
        self._congestion_control = params.congestion_control
        self.connections = ImageConnections(params.liveness_timeout_ns)
        for connection in params.connections:
            self.connections.append(cython.cast(cython.pointer(PyObject), connection))
        self.loss = LossRecovery(params, self.connections)
        self.measurements = ImageMeasurements(params, self.connections)
        self._bell = params.bell or Bell()
        self._is_status_message_enabled = True
        self.window_length = self._congestion_control.initial_window_length()
        self._sm_timeout_ns = params.status_message_timeout_ns
        # A deadline that has passed: the first status message is due at once, since the sender waits for it.
        self._sm_deadline_ns = 0
        self._is_sm_due = False
        # Status messages are the only timer; measurements of a quiet image are looked at with them.
        self.activity = StreamActivity(RARE_NS)
        self._start_at(params.position)
        self._prepare_frames()

    def _start_at(self, position: int) -> None:
        self._next_sm_position = position
        self._last_sm_position = position
        # Half a term, the largest window, beyond the last status message: the rest of the buffers holds what is not
        # yet consumed or cleaned.
        self._overrun_threshold = position + (self.log.term_length >> 1)
        self._clean_position = position
        self._last_lowest_position = -1
        self._last_hwm_position = -1
        self.hwm_position.set_release(position)
        self.rebuild_position.set_release(position)

    def _prepare_frames(self) -> None:
        self._rebuild = RebuildState()
        self._rejection = ErrorFrame()
        self._sm = StatusMessage()
        self._response_setup = ResponseSetup()
        for frame in (self._rejection, self._sm, self._response_setup):
            frame.session_id = self.session_id
            frame.stream_id = self.stream_id

    def await_data(self, permit: int) -> int:
        """Set the permit of `AwaitedImages` to hold until the first frame arrives, or NO_PERMIT; return 0."""
        self._counted_permit = permit
        return self._set_permit(permit)

    def _set_permit(self, permit: int) -> int:
        self._permit = permit
        self.awaits_data.set_release(permit != operations.NO_PERMIT)
        return self.connections.extend(permit == operations.NO_PERMIT)

    def release_permit(self) -> int:
        """Release the permit of this image if it still holds one; return 0."""
        if self._permit == operations.NO_PERMIT:
            return 0
        self._awaited.release(self._permit)
        return self._set_permit(operations.NO_PERMIT)

    def stop_counting(self) -> int:
        """Release the permit of this image, and stop counting the image: its log was deleted. Return 0."""
        self.release_permit()
        if self._counted_permit != operations.NO_PERMIT:
            self._awaited.stop_counting(self._counted_permit)
            self._counted_permit = operations.NO_PERMIT
        return 0

    def calm(self, now_ns: int) -> bool:
        """Make the image quiet if nothing moved for ACTIVE_NS, no timer is due, and everything is consumed.

        Returns whether it is quiet.
        """
        if not self.activity.is_over(now_ns):
            return False
        # Only packets and commands give it work: there is no log to look at.
        self.activity.calm(cython.NULL, 0, pointers.WHEN_LOOKING)
        return True

    def add_subscriber(self, subscriber: SubscriberPosition) -> int:
        """Add a subscriber at the position of the slowest one, at most the rebuild position; return that position."""
        return self.subscribers.add(subscriber, self.subscribers.lowest(self.rebuild_position.get()))

    def consumed_position(self) -> int:
        """Return the position that all subscribers have consumed, at most the rebuild position.

        `wire.NO_POSITION` if there are no subscribers.
        """
        if self.subscribers.size() == 0:
            return wire.NO_POSITION
        return self.subscribers.lowest(self.rebuild_position.get())

    def reject(self, reason: str) -> None:
        """Drop further data, and send `reason` to the sender instead of status messages.

        Called by the conductor. Only the first reason counts: the receiver reads it from then on. Raises
        ValueError if it has more than `wire.ERR_MAX_TEXT_LENGTH` bytes of UTF-8.
        """
        if self._is_rejected.get_acquire():
            return
        self._rejection.error_code = ErrorCode.IMAGE_REJECTED
        self._rejection.text = reason
        # Release: when the receiver thread finds the flag set, it also finds the error code and the text.
        self._is_rejected.set_release(1)

    def announce_responses(self, session_id: int) -> bool:
        """Send the session id of the responses to the sender, at once and with each periodic status message.

        Called by the conductor. Returns whether the receiver must visit the image: the session is another one.
        """
        # The lower half is the session id; bit 32 is set, so that 0 means "no responses".
        return self._announce(1 << 32 | (session_id & 0xFFFFFFFF))

    def announce_no_responses(self) -> bool:
        """Stop announcing responses; called by the conductor. See `announce_responses`."""
        return self._announce(0)

    def _announce(self, session: int) -> bool:
        if self._response_session.get_acquire() == session:
            return False
        self._response_session.set_release(session)
        return True

    def insert_packet(  # noqa: PLR0913
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        term_id: int,
        term_offset: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        """Insert a datagram into the log, or handle a heartbeat; return the bytes used.

        Returns 0 if it is dropped, because the image is rejected, the term precedes the first one, or the sender over-
        or underran the window; a negative `wire.FRAME_…` if it is invalid.
        The datagram is `length` bytes of `buffer` at `offset`.
        """
        if (
            # Term ids wrap, so the distance to the initial one is a signed 32-bit difference: negative before the
            # start.
            positions.compute_term_count(term_id, self.log.initial_term_id) < 0
            or self._is_rejected.get_acquire()
        ):
            return 0
        payload_length = validate_data_packet(buffer, offset, length, term_offset, self.log.term_length)
        if payload_length < 0:
            return payload_length
        packet_position = positions.compute_position(
            term_id, term_offset, self.log.position_bits_to_shift, self.log.initial_term_id
        )
        proposed = packet_position + payload_length
        if payload_length == 0:
            # A data frame without payload is a heartbeat.
            return self._on_heartbeat(endpoint, buffer, offset, packet_position, source, now_ns)
        # Flow control: a sender may send up to half a term, the largest window, beyond the last status message. Only
        # the header of padding counts, as in the sender, whose position is then beyond its limit: another half of a
        # term is for that.
        if packet_position + length > self._overrun_threshold or proposed > self._overrun_threshold + (
            self.log.term_length >> 1
        ):
            self._counters.flow_control_over_runs.increment_release()
            return 0
        # Underrun: this part was consumed and may have been cleaned. Writing there would bring old frames back.
        if packet_position < self._last_sm_position:
            # Old data does not prove that the sender is alive: the network may deliver copies much later.
            self._counters.flow_control_under_runs.increment_release()
            if proposed >= self._last_sm_position - self.window_length:
                # The path is still active, but another path is ahead of it.
                self.connections.track(endpoint, source, now_ns)
            return 0
        self._on_packet(endpoint, source, now_ns)
        self.activity.wake()
        # Stores the frame length last (release): readers see the whole packet or nothing.
        insert(self.log.buffer, self.log.frame_offset(packet_position), buffer, offset, length)
        # Release: the conductor compares it with the rebuild position to see whether all data has arrived.
        self.hwm_position.propose_max_release(proposed)
        return length

    def _on_packet(self, endpoint: ReceiveChannelEndpoint, source: SocketAddress, now_ns: int) -> int:
        if self._permit != operations.NO_PERMIT:
            self.release_permit()
        self.loss.detector.on_packet(now_ns)
        # The conductor compares it with the liveness timeout.
        self.time_of_last_packet_ns.set_release(now_ns)
        return self.connections.track(endpoint, source, now_ns)

    def _on_heartbeat(  # noqa: PLR0913
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        position: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        # More lenient than for data: a heartbeat is not written to the log, so neither an old one nor one beyond the
        # window does harm. The latter must keep the image alive: a sender that padded the end of its window stays
        # beyond it until the subscribers read.
        if position > self._overrun_threshold + (self.log.term_length >> 1):
            self._counters.flow_control_over_runs.increment_release()
            return 0
        bottom = self._last_sm_position - self.log.term_length
        if position < 0 or position < bottom:
            self._counters.flow_control_under_runs.increment_release()
            return 0
        self._on_packet(endpoint, source, now_ns)
        flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        if (
            flags & wire.DATA_FLAG_EOS
            and not self.is_end_of_stream.get_acquire()
            and self.connections.end(endpoint, position)
        ):
            self._on_end_of_stream(flags & wire.DATA_FLAG_REVOKED != 0)
        # The sender has sent up to here: whatever is missing below is a gap, even if nothing more is sent.
        if position > self.hwm_position.get():
            self.activity.wake()
            self.hwm_position.set_release(position)
        self._counters.heartbeats_received.increment_release()
        return wire.DATA_HEADER_LENGTH

    def _on_end_of_stream(self, is_revoked: bool) -> int:
        if is_revoked:
            self.log.set_is_revoked(True)
            self._counters.publication_images_revoked.increment_release()
        # The position is for clients, in the log; the flag is for the conductor and the dispatcher.
        self.log.set_end_of_stream_position(self.connections.end_position())
        self.is_end_of_stream.set_release(1)
        return 0

    def track_rebuild(self, now_ns: int) -> int:
        """Update rebuild position and next status message, and recover a gap that is due.

        Does nothing without subscribers, or if the stream is revoked. Returns 1 if a gap was due and was requested or
        filled, else 0.
        """
        if self.subscribers.size() == 0 or self.log.is_revoked():
            return 0
        # Plain reads: only this thread writes the two positions.
        hwm = self.hwm_position.get()
        before = self.rebuild_position.get()
        # Clients write subscriber positions: cap them at a term beyond the last status message, which is more than can
        # have been received.
        ceiling = self._last_sm_position + self.log.term_length
        lowest = max(self.subscribers.lowest(ceiling), self._next_sm_position)
        if lowest < hwm:
            # There is more to read: a subscriber that does makes a status message due.
            self.activity.move(now_ns)
        # Nothing moved, and there is no gap to recover.
        if lowest == self._last_lowest_position and hwm == self._last_hwm_position and before == hwm:
            return 0
        self.activity.move(now_ns)
        self._last_lowest_position = lowest
        # A subscriber may be ahead of the scan: the frames up to its position are complete.
        rebuilt = before
        before = self.subscribers.highest(before, ceiling)
        after = self.loss.detector.scan(before, hwm, now_ns)
        self._advance(rebuilt, after, hwm)
        self._rebuild.now_ns = now_ns
        self._rebuild.consumption_position = lowest
        self._rebuild.last_sm_position = self._next_sm_position
        self._rebuild.hwm_position = hwm
        self._rebuild.rebuild_position_before = before
        self._rebuild.rebuild_position_after = after
        self._rebuild.loss_occurred = self.loss.detector.is_new_gap
        self._rebuild.force_status_message = False
        # A strategy may return more than half a term, but the overrun check would drop the rest.
        window = min(self._congestion_control.on_track_rebuild(self._rebuild), self.log.term_length >> 1)
        if (
            self._rebuild.force_status_message
            or lowest > self._next_sm_position + (window >> 2)
            or (
                lowest > self._next_sm_position
                and lowest + self.log.mtu_length > self._next_sm_position + window
            )
            or window != self.window_length
        ):
            # Extend the window before the sender has used it up: when a quarter was consumed, if the rest may be too
            # short for the next frame, or if the strategy requests it or changes the window. In the reference, a stream
            # with a window of one frame stands still when a long frame follows less than a quarter of the window.
            # Data that was consumed a term ago is zeroed: a frame length of zero means "not received yet".
            self._clean_position = clean_step(self.log, self._clean_position, lowest - self.log.term_length)
            self._next_sm_position = lowest
            self.window_length = window
            self._is_sm_due = True
        # A rejected image requests nothing: it would drop the retransmission.
        if not self.loss.detector.is_due or self._is_rejected.get_acquire():
            return 0
        return self.loss.recover(now_ns, self.is_draining.get_acquire() != 0)

    def _advance(self, rebuilt: int, after: int, hwm: int) -> int:
        # The counter is for the conductor, tools, and joining subscribers: reading ones stop at a frame length of zero.
        self.rebuild_position.propose_max_release(after)
        # There is more to read; a packet that fills a gap does not move the high-water mark. Compared with the rebuild
        # position, not with that of the fastest subscriber, which may have passed the gap already. One fence for all
        # packets of a duty cycle.
        if hwm != self._last_hwm_position or after > rebuilt:
            self._bell.ring_surely()
        self._last_hwm_position = hwm
        return 0

    def may_rest(self) -> bool:
        """Return whether there is no gap, and all subscribers have read what arrived: only packets can give it work."""
        # Plain reads: only this thread writes the two positions.
        position = self.hwm_position.get()
        return (
            not self._is_sm_due
            and self.rebuild_position.get() == position
            and self.subscribers.lowest(position) == position
        )

    def send_pending(self, now_ns: int) -> int:
        """Send the status message, error or measurement that is due; return how many were due, 0 to 2."""
        self.activity.visit(now_ns)
        work = self._send_pending(now_ns)
        if self._is_status_message_enabled:
            self.activity.remind(self._sm_deadline_ns + 1)
        return work

    def _send_pending(self, now_ns: int) -> int:
        # Errors replace status messages: without status messages the sender times this receiver out.
        if self._is_rejected.get_acquire():
            return self._send_error_if_due(now_ns)
        work = 0
        if self._congestion_control.should_measure_rtt(now_ns):
            work = self.measurements.measure(now_ns)
        session = self._response_session.get_acquire()
        if session != self._last_response_session:
            self._last_response_session = session
            if session != 0:
                # Due now: the requester waits for the session id of the responses.
                self._sm_deadline_ns = now_ns - 1
        # Due because subscribers advanced, the window changed or the strategy requests it, or periodically: the message
        # also shows that this receiver is alive.
        if self._is_sm_due or (self._is_status_message_enabled and now_ns > self._sm_deadline_ns):
            if now_ns > self._sm_deadline_ns and session != 0:
                # The assignment to 32 bits drops the upper half.
                self._response_setup.response_session_id = session
                self.connections.send_response_setup(self._response_setup, now_ns)
            work += self._send_status_message(now_ns)
        return work

    def _send_error_if_due(self, now_ns: int) -> int:
        if not self._is_status_message_enabled or now_ns <= self._sm_deadline_ns:
            return 0
        self._sm_deadline_ns = self.activity.due_ns(now_ns, self._sm_timeout_ns)
        sent = self.connections.send_error(self._rejection, now_ns)
        if sent > 0:
            self._counters.error_frames_sent.get_and_add(sent)
        return 1

    def _send_status_message(self, now_ns: int) -> int:
        position = self._next_sm_position
        self._sm.consumption_term_id = positions.compute_term_id(
            position, self.log.position_bits_to_shift, self.log.initial_term_id
        )
        self._sm.consumption_term_offset = positions.compute_term_offset(
            position, self.log.position_bits_to_shift
        )
        # The sender may send up to position + window. The position is that of the slowest subscriber: nothing beyond
        # it is consumed by all.
        self._sm.receiver_window = self.window_length
        # EOS while draining: the sender forgets this receiver at once, not after its timeout.
        self._sm.flags = wire.SM_FLAG_EOS if self.is_draining.get_acquire() else 0
        sent = self.connections.send_status_message(self._sm, now_ns)
        if sent > 0:
            self._counters.status_messages_sent.get_and_add(sent)
        self.log.set_active_transport_count(self.connections.count_alive(now_ns))
        # Updated only after sending: until then the sender, and the checks of packets, act on the previous message.
        self._last_sm_position = position
        self._overrun_threshold = position + (self.log.term_length >> 1)
        self._is_sm_due = False
        self._sm_deadline_ns = self.activity.due_ns(now_ns, self._sm_timeout_ns)
        return 1

    def disable_status_messages(self) -> int:
        """Stop periodic status messages and errors: a newer image of the stream sends them. Return 0."""
        self._is_status_message_enabled = False
        return 0

    def is_of_stream_of(self, image: PublicationImage) -> bool:
        """Return whether another image has the same session id, stream id and endpoint."""
        return (
            self.session_id == image.session_id
            and self.stream_id == image.stream_id
            and self.endpoint is image.endpoint
        )
