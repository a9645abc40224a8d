"""Send side of one stream over datagrams.

    data       while the sender position is below the sender limit, which flow control derives from status
               messages
    SETUP      every 100 ms until the first status message, and when a status message requests one
    heartbeat  after 100 ms without data, once there was a status message; at the end of the stream with the
               EOS flag, unless the URI disables it
    NAK        a receiver requests a part of a term again (`retransmit_handler`)
    RTTM       a reply to a receiver, a request for its proof (`receiver_proofs`), or a one-way measurement

Not here: the lifecycle of a publication, which the conductor runs, and the socket.
Invariant: all but the constructor runs on the sender; the conductor uses only the log, counters and AtomicLongs.
Source: aeron_network_publication.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import pointers, positions, wire
from aeron_core.driver._native import operations
from aeron_core.driver.agents.one_way_latency import OneWaySchedule
from aeron_core.driver.agents.rate_limit import reply_limit
from aeron_core.driver.sender.control_frames import ControlFrames
from aeron_core.driver.sender.datagram_run import DatagramRun
from aeron_core.driver.sender.live_receivers import LiveReceivers
from aeron_core.driver.sender.publication_events import PublicationEvents
from aeron_core.driver.sender.receiver_proofs import ReceiverProofs
from aeron_core.driver.sender.retransmit_handler import RetransmitHandler
from aeron_core.driver.sender.sending_publication import SendingPublication

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.sender.control_frames import HeartbeatBunch
    from aeron_core.driver.sender.publication_params import NetworkPublicationParams
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.nak import Nak
    from aeron_core.protocol.frames.response_setup import ResponseSetup
    from aeron_core.protocol.frames.rttm import Rttm
    from aeron_core.protocol.frames.status_message import StatusMessage


class NetworkPublication(SendingPublication):
    """One stream that is sent in datagrams; methods run on the sender, the constructor on the conductor."""

    _has_initial_connection: bool
    _is_setup_elicited: bool

    def __init__(self, params: NetworkPublicationParams, heartbeats: HeartbeatBunch) -> None:
        super().__init__(params)
        self._counters = params.system_counters
        self._back_pressure_events = params.back_pressure_events
        self._naks_received = params.naks_received
        self._flow_control = params.flow_control
        self._retransmits = RetransmitHandler(
            is_group=params.is_group,
            max_resend=params.max_resend,
            delay_ns=params.retransmit_delay_ns,
            linger_ns=params.retransmit_linger_ns,
            initial_window_length=params.initial_window_length,
        )
        self._run = DatagramRun(params.log, params.mtu, uses_gso=params.uses_gso)
        self._batch = params.batch
        self._heartbeats = heartbeats
        self._is_bunched = params.shares_batches
        self._max_entries = params.max_messages_per_send
        self._events = PublicationEvents(params)
        self._receivers = LiveReceivers(params.connection_timeout_ns)
        self._requires_proof = params.requires_proof
        self._proofs = ReceiverProofs(params.proof_secret)
        self._is_unicast = not params.is_group
        self._signals_eos = params.signals_eos
        self._simulates_connection = params.spies_simulate_connection
        # The sender may exceed its limit by the length of padding, of which only the header is sent. The longest
        # padding is almost as long as the longest fragmented message, which did not fit the rest of the term.
        self._longest_padding = positions.fragmented_length(
            params.log.max_message_length, params.log.max_payload_length
        )
        # Nothing was sent yet: a SETUP is due at once, a heartbeat with the first status message.
        self._time_of_last_setup_ns = params.now_ns - wire.SETUP_INTERVAL_NS - 1
        self._time_of_last_send_ns = params.now_ns - wire.HEARTBEAT_INTERVAL_NS - 1
        self._frames = ControlFrames(params)
        self._rttm_replies = reply_limit()
        self._requests_response = params.requests_response
        self._is_response = params.is_response
        self._clock = params.clock
        self._measures_one_way = params.one_way_latency_interval_ns > 0
        self._one_way = OneWaySchedule(params.one_way_latency_interval_ns)

    def calm(self, now_ns: int) -> bool:
        """See `SendingPublication.calm`: nothing moved for ACTIVE_NS, no timer is due, and nothing is to be sent."""
        if not self.activity.is_over(now_ns) or self.state.get_acquire() != operations.PUBLICATION_ACTIVE:
            return False
        # The tails first: a message that is claimed after them is found by their sum.
        seen = pointers.sum_of_tails(self.log.tails())  # type: ignore[attr-defined]  # declared in C
        if self.log.producer_position() != self._last_producer_position:
            return False
        self.activity.calm(
            self.log.tails(),  # type: ignore[attr-defined]  # as above
            seen,
            pointers.WHEN_LOOKING if self.is_rung.get_acquire() else pointers.RESTLESS,
        )
        return True

    def send_pending(self, now_ns: int) -> int:
        """Send what is due; return the stream bytes of new data.

        Padding counts as data. Heartbeats, SETUP and RTTM frames and retransmissions do not count.
        """
        self.activity.visit(now_ns)
        # Plain read: only this thread writes the sender position.
        position = self.sender_position.get()
        # Without a request, SETUPs are sent only until the first status message: it shows that a receiver has an
        # image.
        if not self._has_initial_connection or self._is_setup_elicited:
            self._send_setup_if_due(position, now_ns)
        sent = self._send_data(position, now_ns)
        if sent == 0:
            self._send_heartbeat_if_due(position, now_ns)
            self._idle(now_ns)
        self._forget_silent_receivers(now_ns)
        if self.has_receivers.get_acquire() and self._one_way.is_due(now_ns):
            self._measure_one_way()
        self._retransmits.process_timeouts(self, now_ns)
        if self._measures_one_way and self.has_receivers.get_acquire():
            self.activity.remind(self._one_way.deadline_ns())
        if self._retransmits.is_active():  # type: ignore[attr-defined]  # declared in C
            self.activity.remind(self._retransmits.next_expiry_ns(now_ns + wire.HEARTBEAT_INTERVAL_NS) + 1)
        return sent

    def may_rest(self) -> bool:
        """See `SendingPublication.may_rest`."""
        position = self.log.producer_position()
        return (
            self.is_rung.get_acquire() != 0
            and self.sender_position.get() == position
            and self.spies.lowest(position) == position
        )

    def _send_data(self, position: int, now_ns: int) -> int:
        # Plain read: only this thread writes the limit. The window can be negative after padding, of which only the
        # header was sent.
        window = self.sender_limit.get() - position
        first = self._run.collect(self._batch, position, window, self._max_entries)
        if self._batch.count == 0:
            if self._run.is_blocked or window <= 0:
                self._count_back_pressure()
            return 0
        taken = self.endpoint.send(self, self._batch)
        # The socket may accept fewer entries: advance only by the bytes that were sent.
        if self._batch.length_of_first(taken) < self._batch.length:
            self._counters.short_sends.get_and_add(1)
            first = self._batch.length_of_first(taken)
        if taken > 0:
            # Data replaces the heartbeat.
            self._time_of_last_send_ns = now_ns
            self._tracks_sender_limits = True
            # Release: the conductor and clients read the position to see what was sent.
            self.sender_position.set_release(position + first)
        return first

    def _count_back_pressure(self) -> int:
        # Count once per stop of the sender, not once per duty cycle in which it waits.
        if self._tracks_sender_limits:
            self._tracks_sender_limits = False
            self._back_pressure_events.increment_release()
            self._counters.sender_flow_control_limits.get_and_add(1)
        return 0

    def _send_setup_if_due(self, position: int, now_ns: int) -> int:
        due_ns = self.activity.due_ns(self._time_of_last_setup_ns, wire.SETUP_INTERVAL_NS)
        if now_ns < due_ns:
            return self.activity.remind(due_ns)
        if self.is_end_of_stream.get_acquire() != 0 or self.log.is_revoked():
            # As for requests: a receiver that joins now would create an image that never receives anything. The
            # address may be one that has never asked for the stream.
            return 0
        # A receiver creates its image from a SETUP: term length, mtu, and the position at which it joins.
        length = self._frames.encode_setup(position)
        if self._is_setup_elicited:
            self.sender_limit.set_release(
                self._flow_control.on_setup(self._frames.setup, self.sender_limit.get(), now_ns)
            )
        self._send_frame(length)
        self._time_of_last_setup_ns = now_ns
        self.activity.remind(self.activity.due_ns(now_ns, wire.SETUP_INTERVAL_NS))
        # One SETUP answers the request: a receiver that loses it requests another. Without any receiver, repeat it
        # until a status message arrives.
        if self.has_receivers.get_acquire():
            self._is_setup_elicited = False
        return 0

    def _send_heartbeat_if_due(self, position: int, now_ns: int) -> int:
        # Before the first status message there is no image to keep alive.
        if not self._has_initial_connection:
            return 0
        due_ns = self.activity.due_ns(self._time_of_last_send_ns, wire.HEARTBEAT_INTERVAL_NS)
        if now_ns < due_ns:
            return self.activity.remind(due_ns)
        # A heartbeat keeps the image alive and carries the sender position: lost data before it shows as a gap.
        flags = wire.DATA_FLAGS_UNFRAGMENTED
        if self.log.is_revoked():
            flags |= wire.DATA_FLAG_EOS | wire.DATA_FLAG_REVOKED
        # The end is known only after the last data was sent, hence the flag is in heartbeats. They repeat it, so that
        # a lost one does no harm.
        elif self._signals_eos and self.is_end_of_stream.get_acquire():
            flags |= wire.DATA_FLAG_EOS
        self._time_of_last_send_ns = now_ns
        self.activity.remind(self.activity.due_ns(now_ns, wire.HEARTBEAT_INTERVAL_NS))
        self._counters.heartbeats_sent.get_and_add(1)
        length = self._frames.encode_heartbeat(position, flags)
        return self._heartbeats.add(self, self._frames) if self._is_bunched else self._send_frame(length)

    def _send_frame(self, length: int) -> int:
        self._batch.clear()
        self._batch.add(self._frames.buffer, 0, length, length)
        if self.endpoint.send(self, self._batch) < 1:
            self._counters.short_sends.get_and_add(1)
            return 0
        return length

    def _idle(self, now_ns: int) -> int:
        limit = self.sender_limit.get()
        position = self.sender_position.get()
        if self._simulates_connection and not self.has_receivers.get_acquire() and self.spies.size() > 0:
            # Without receivers the spies drive the stream, as if the fastest of them were a receiver.
            position = self.spies.highest(position, self.log.producer_position())
            self.sender_position.set_release(position)
            limit = position
        self.sender_limit.set_release(
            self._flow_control.on_idle(limit, position, self.is_end_of_stream.get_acquire() != 0, now_ns)
        )
        return 0

    def _forget_silent_receivers(self, now_ns: int) -> int:
        if self._receivers.forget_silent(now_ns) > 0:
            self._has_refused_receivers = False
            self._proofs.forget_all_but(self._receivers)
            if self._receivers.count() == 0:
                self.has_receivers.set_release(0)
        return 0

    def _has_subscribers(self, now_ns: int) -> bool:
        if self.has_receivers.get_acquire() and self._flow_control.has_required_receivers(now_ns):
            return True
        return self._simulates_connection and self.spies.size() > 0

    def on_status_message(self, sm: StatusMessage, source: SocketAddress, now_ns: int) -> int:
        """Handle a receiver's position and window, or its request for a SETUP; return 1 if rejected, else 0."""
        if sm.flags & wire.SM_FLAG_SEND_SETUP:
            # The message carries no position: the receiver has no image. It got data of the session, or requests any
            # SETUP at a control address.
            if self.is_end_of_stream.get_acquire():
                # A receiver that joins now would create an image that never receives anything.
                return 0
            # The duty cycle sends the SETUP, at most one per SETUP_INTERVAL_NS: many receivers, or forged requests,
            # cannot make this side send more.
            self._is_setup_elicited = True
            self.activity.hurry()
            if self._is_proved(sm):
                self._flow_control.on_setup_elicited(sm, now_ns)
            return 0
        if not sm.is_valid(self.log.term_length) or not self._is_credible(sm):
            self._counters.status_messages_rejected.get_and_add(1)
            return 1
        if sm.flags & wire.SM_FLAG_EOS:
            # The receiver leaves the stream.
            self._receivers.forget(sm.receiver_id)
            if self._is_unicast:
                # The only receiver needs no retransmission any more: the conductor does not wait for the linger
                # timeout.
                self.has_unicast_eos.set_release(1)
        elif not self._receivers.note(sm.receiver_id, now_ns):
            return self._refuse_receiver()
        self._set_has_receivers(self._receivers.count() > 0, now_ns)
        self._has_initial_connection = True
        if sm.flags & wire.SM_FLAG_EOS or not self._is_connected:
            # It may connect the stream or disconnect it: the next duty cycle visits the stream.
            self.activity.hurry()
        if not self._is_proved(sm):
            return self._request_proof(sm.receiver_id, now_ns)
        # A status message is not answered. The receiver repeats it, so a lost one delays the limit but does not stop
        # it.
        position = sm.position(self.log.initial_term_id, self.log.position_bits_to_shift)
        limit = self._flow_control.on_status_message(sm, position, self.sender_limit.get(), now_ns)
        if limit != self.sender_limit.get():
            # There may be more to send.
            self.activity.hurry()
            self.sender_limit.set_release(limit)
        if sm.flags & wire.SM_FLAG_EOS:
            self._proofs.forget(sm.receiver_id)
        return 0

    def _is_proved(self, sm: StatusMessage) -> bool:
        return not self._requires_proof or self._proofs.is_proved(sm.receiver_id)

    def _request_proof(self, receiver_id: int, now_ns: int) -> int:
        if not self._receivers.is_tracked(receiver_id):
            # The receiver has left with this message.
            return self._proofs.forget(receiver_id)
        # A request that is not sent now, or is lost, follows a later status message of the receiver.
        if self._proofs.take_request(receiver_id, now_ns):
            self._send_frame(self._frames.encode_rttm(self._proofs.secret, receiver_id, wire.RTTM_FLAG_REPLY))
        return 0

    def _set_has_receivers(self, has_receivers: bool, now_ns: int) -> int:
        is_first = has_receivers and not self.has_receivers.get_acquire()
        self.has_receivers.set_release(has_receivers)
        if is_first and self._is_response:
            self._events.response_connected(self, now_ns)
        return 0

    def _refuse_receiver(self) -> int:
        self._counters.status_messages_rejected.get_and_add(1)
        # Report once, until a receiver has timed out: forged receivers must not flood the conductor.
        if not self._has_refused_receivers:
            self._has_refused_receivers = True
            self._events.receivers_refused(self)
        return 1

    def _is_credible(self, sm: StatusMessage) -> bool:
        # Unlike the reference, this check allows for padding: if padding begins just before the sender limit, the
        # sender skips all of it, and is then up to half a term plus the padding ahead of the receiver, whose status
        # messages must not be rejected.
        position = self.sender_position.get()
        bits = self.log.position_bits_to_shift
        return sm.is_near(position, self.log.initial_term_id, bits) or sm.is_near(
            position - self._longest_padding, self.log.initial_term_id, bits
        )

    def on_nak(self, nak: Nak, source: SocketAddress, now_ns: int) -> int:
        """Retransmit a gap of a receiver, at once or after a delay; see `RetransmitHandler`. Return 0.

        Ignores an invalid or empty NAK, one that an earlier one covers, and one for which no action is free.
        """
        # A delayed retransmission is due before the next timer of a quiet stream.
        self.activity.move(now_ns)
        self.activity.wake()
        self._naks_received.increment_release()
        if not nak.is_valid(self.log.term_length):
            self._counters.invalid_packets.get_and_add(1)
            return 0
        if nak.length == 0:
            return 0
        if (
            self._retransmits.on_nak(
                self,
                self._flow_control,
                nak.term_id,
                nak.term_offset,
                nak.length,
                self.log.term_length,
                now_ns,
            )
            == operations.RETRANSMIT_OVERFLOW
        ):
            self._counters.retransmit_overflow.get_and_add(1)
        return 0

    def on_error(
        self, error: ErrorFrame, destination_registration_id: int, source: SocketAddress, now_ns: int
    ) -> int:
        """Handle the error of a receiver that rejects the stream: report it, then forget the receiver; return 0.

        Only the flow control gets the error of an untracked receiver. If the error cannot be reported now, the receiver
        stays tracked. `destination_registration_id` is -1 unless a client added the destination.
        """
        self._flow_control.on_error(error, now_ns)
        # It may move the limit or disconnect the stream: the next duty cycle visits the stream.
        self.activity.hurry()
        # Errors of receivers that are not tracked are not reported. A receiver is forgotten after its error was
        # reported, so each rejection is reported once.
        if not self._receivers.is_tracked(error.receiver_id):
            return 0
        # Not reported now: the receiver stays tracked, so that its next ERR frame can be reported.
        if not self._events.error(self, error, destination_registration_id, source, now_ns):
            return 0
        self._receivers.forget(error.receiver_id)
        self._proofs.forget(error.receiver_id)
        if self._receivers.count() == 0:
            self.has_receivers.set_release(0)
        return 0

    def on_rttm(self, rttm: Rttm, source: SocketAddress, now_ns: int) -> int:
        """Reply to a receiver that measures the round-trip time, or take its reply as a proof.

        Returns the length of the reply, 0 if none was sent: the RTTM was a reply itself, requests are too frequent, or
        the socket did not accept the reply.
        """
        # Without the flag it is a reply, to a request for a proof: one-way measurements get no replies.
        if not rttm.flags & wire.RTTM_FLAG_REPLY:
            self._proofs.on_reply(rttm.receiver_id, rttm.echo_timestamp)
            return 0
        if not self._rttm_replies.take(now_ns):
            self._counters.invalid_packets.get_and_add(1)
            return 0
        return self._send_frame(self._frames.encode_rttm(rttm.echo_timestamp, rttm.receiver_id, 0))

    def _measure_one_way(self) -> int:
        return self._send_frame(self._frames.encode_rttm(self._clock.epoch_ns(), 0, 0))

    def on_response_setup(self, setup: ResponseSetup, source: SocketAddress, now_ns: int) -> int:
        """Report the session of the responses, if this publication requested responses, at a limited rate; return 0."""
        if not self._requests_response:
            self._counters.invalid_packets.get_and_add(1)
            return 0
        return self._events.response_setup(self, setup.response_session_id, now_ns)

    def resend(self, term_id: int, term_offset: int, length: int) -> int:
        """Retransmit what was sent of a part of the log, unless it is too old.

        Returns the bytes of the stream that were retransmitted, padding included, without a batch that the socket
        accepted in part. 0 if the part is too old or was not sent yet.
        """
        position = positions.compute_position(
            term_id, term_offset, self.log.position_bits_to_shift, self.log.initial_term_id
        )
        sender_position = self.sender_position.get()
        # The reference allows for padding as long as the longest message, but not for the headers of its fragments.
        # With that bound, a gap at the very start of the window would never be closed.
        bottom = sender_position - (self.log.term_length >> 1) - self._longest_padding
        if position < bottom or position >= sender_position:
            return 0
        # Retransmit only what was sent before: what follows is new data, which `_send_data` sends within the limit.
        remaining = min(length, sender_position - position)
        sent = 0
        while remaining > 0:
            first = self._run.collect(self._batch, position, remaining, self._max_entries)
            if self._batch.count == 0:
                break
            taken = self.endpoint.send(self, self._batch)
            if self._batch.length_of_first(taken) < self._batch.length:
                self._counters.short_sends.get_and_add(1)
                break
            sent += first
            position += first
            remaining -= first
            if (position & self.log.term_length_mask) == 0:
                # The end of the term: a NAK describes a gap within one term.
                break
        if sent > 0:
            self._counters.retransmits_sent.get_and_add(1)
            self._counters.retransmitted_bytes.get_and_add(sent)
        return sent
