"""Feedback of receivers to a send endpoint: status messages, NAKs, errors and rare frames, passed to their streams.

Not here: the socket (`send_endpoint`), and the reactions of a stream to a frame.
Invariant: nothing is allocated per datagram, and no input raises: invalid packets are counted and logged as a fault.
Source: aeron_send_channel_endpoint.c (aeron_send_channel_endpoint_dispatch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.aeron_core._native.pointers import pair_key

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core._native.pointers import PointerMap
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.header import validate
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.endpoints import SendStream
from aeron_media.udp.incoming_loss import IncomingLoss
from aeron_media.udp.loss import LossGenerator

if TYPE_CHECKING:
    from aeron_core.spi.media import SendEndpointParams
    from aeron_media.fault_slot import FaultSlot
    from aeron_media.udp.destinations import Destinations
    from aeron_media.udp.response_receivers import ResponseReceivers


class ReceiverFeedback:
    """Decoder of the frames in `batch`, which the endpoint fills; used by the sender.

    `has_nak`: a NAK was passed to a stream since it was last set to False. `receivers` is None unless the endpoint is
    that of a response channel.
    """

    def __init__(
        self,
        params: SendEndpointParams,
        streams: PointerMap,
        faults: FaultSlot,
        destinations: Destinations | None,
        receivers: ResponseReceivers | None,
    ) -> None:
        self.batch = ReceiveBatch() if params.batch is None else params.batch
        self._streams = streams
        self._faults = faults
        self._is_multi_destination = destinations is not None
        if destinations is not None:
            self._destinations = destinations
        self._answers = receivers is not None
        if receivers is not None:
            self._receivers = receivers
        self._source = SocketAddress()
        self._sm = StatusMessage()
        self._nak = Nak()
        self._error = ErrorFrame()
        self._rttm = Rttm()
        self._response_setup = ResponseSetup()
        self._control_loss = LossGenerator(params.control_loss)
        self._loses_control = params.control_loss.rate > 0
        self._incoming_loss = IncomingLoss(params.incoming_losses)
        self._invalid_packets = params.counters["invalid_packets"]
        self._status_messages_received = params.counters["status_messages_received"]
        self._naks_received = params.counters["naks_received"]
        self._error_frames_received = params.counters["error_frames_received"]

    def on_slot(self, slot: int, now_ns: int) -> int:
        """Handle the datagrams in slot number `slot` of `batch`; return how many, including rejected datagrams."""
        self.batch.copy_source(slot, self._source)
        offset = self.batch.offset_of(slot)
        end = offset + self.batch.length_of(slot)
        segment_length = self.batch.segment_length_of(slot)
        if offset == end:
            self._refuse(wire.FRAME_TOO_SHORT)
            return 1
        frames = 0
        while offset < end:
            step = min(segment_length, end - offset)
            self._on_packet(offset, step, now_ns)
            frames += 1
            offset += step
        return frames

    def _on_packet(self, offset: int, length: int, now_ns: int) -> int:
        frame_type = validate(self.batch.buffer, offset, length)
        if frame_type < 0:
            return self._refuse(frame_type)
        if self._is_lost(offset, length):
            return 0
        if frame_type == wire.TYPE_SM:
            return self._on_status_message(offset, length, now_ns)
        if frame_type == wire.TYPE_NAK:
            return self._on_nak(offset, length, now_ns)
        if frame_type == wire.TYPE_ERR:
            return self._on_error(offset, length, now_ns)
        return self._on_rare(frame_type, offset, length, now_ns)

    def _is_lost(self, offset: int, length: int) -> bool:
        if self._loses_control and self._control_loss.should_drop():
            return True
        return self._incoming_loss.is_any and self._incoming_loss.should_drop(
            self.batch.buffer, offset, length
        )

    def _on_status_message(self, offset: int, length: int, now_ns: int) -> int:
        self._sm.decode(self.batch.buffer, offset, length)
        # The stream is not known yet: it checks the message again with the length of its terms.
        if not self._sm.is_valid(wire.TERM_MAX_LENGTH):
            return self._refuse(wire.FRAME_BAD_FIELD)
        self._status_messages_received.get_and_add(1)
        found = self._streams.get(pair_key(self._sm.stream_id, self._sm.session_id))
        if (
            found != cython.NULL
            and cython.cast(SendStream, found).on_status_message(self._sm, self._source, now_ns) != 0
        ):
            # The stream rejected the status message: the source does not become a destination.
            return 0
        if self._is_multi_destination:
            self._destinations.on_status_message(self._sm.receiver_id, self._source, now_ns)
        if self._answers and found != cython.NULL:
            self._receivers.on_status_message(self._sm, self._source, now_ns)
        return 0

    def _on_nak(self, offset: int, length: int, now_ns: int) -> int:
        self._nak.decode(self.batch.buffer, offset, length)
        if not self._nak.is_valid(wire.TERM_MAX_LENGTH):
            return self._refuse(wire.FRAME_BAD_FIELD)
        found = self._streams.get(pair_key(self._nak.stream_id, self._nak.session_id))
        if found == cython.NULL:
            return 0
        self._naks_received.get_and_add(1)
        self.has_nak = True
        return cython.cast(SendStream, found).on_nak(self._nak, self._source, now_ns)

    def _on_error(self, offset: int, length: int, now_ns: int) -> int:
        self._error.decode(self.batch.buffer, offset, length)
        if not self._error.is_valid():
            return self._refuse(wire.FRAME_BAD_FIELD)
        self._error_frames_received.get_and_add(1)
        found = self._streams.get(pair_key(self._error.stream_id, self._error.session_id))
        if found == cython.NULL:
            return 0
        destination_id = (
            self._destinations.registration_of(self._error.receiver_id, self._source)
            if self._is_multi_destination
            else -1
        )
        return cython.cast(SendStream, found).on_error(self._error, destination_id, self._source, now_ns)

    def _on_rare(self, frame_type: int, offset: int, length: int, now_ns: int) -> int:
        if frame_type == wire.TYPE_RTTM:
            self._rttm.decode(self.batch.buffer, offset, length)
            found = self._streams.get(pair_key(self._rttm.stream_id, self._rttm.session_id))
            if found != cython.NULL:
                return cython.cast(SendStream, found).on_rttm(self._rttm, self._source, now_ns)
        elif frame_type == wire.TYPE_RSP_SETUP:
            self._response_setup.decode(self.batch.buffer, offset, length)
            found = self._streams.get(
                pair_key(self._response_setup.stream_id, self._response_setup.session_id)
            )
            if found != cython.NULL:
                return cython.cast(SendStream, found).on_response_setup(
                    self._response_setup, self._source, now_ns
                )
        # Valid frames that are meant for receivers are ignored, as in the reference.
        return 0

    def _refuse(self, reason: int) -> int:
        self._invalid_packets.get_and_add(1)
        self._faults.keep(reason, 0, 0, 0, self._source)
        return 0
