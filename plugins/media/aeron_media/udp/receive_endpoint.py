"""UDP receive endpoint: receives data, sends status messages, NAKs and other frames of receivers.

Not here: finding the image of a packet (the dispatcher), and opening the socket (`transport`).
Invariant: nothing is allocated per datagram, and no input raises: invalid packets are counted and logged as a fault.
Source: aeron_receive_channel_endpoint.c.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from aeron_core._native import positions, wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch, SendBatch
from aeron_core.protocol.frames.header import validate
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.spi.endpoints import Fault, ReceiveChannelEndpoint
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_media.fault_slot import FaultSlot
from aeron_media.udp.fault_texts import describe_fault
from aeron_media.udp.incoming_loss import IncomingLoss
from aeron_media.udp.loss import LossGenerator

if TYPE_CHECKING:
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.protocol.frames.nak import Nak
    from aeron_core.protocol.frames.response_setup import ResponseSetup
    from aeron_core.protocol.frames.status_message import StatusMessage
    from aeron_core.spi.media import ReceiveEndpointParams

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

MAX_CONTROL_FRAME_LENGTH: Final = wire.ERR_HEADER_LENGTH + wire.ERR_MAX_TEXT_LENGTH
_TIMESTAMP_LENGTH = 8  # nanoseconds since the epoch


class UdpReceiveEndpoint(ReceiveChannelEndpoint):
    """Endpoint that receives on one address; its base classes document which of its methods run on the receiver.

    `control`: the destination of all frames that it sends; without it they are sent to the sender of the stream. Raises
    TypeError if `params` has no dispatcher.
    """

    def __init__(
        self,
        params: ReceiveEndpointParams,
        datagrams: DatagramChannel,
        control: SocketAddress | None = None,
    ) -> None:
        if params.dispatcher is None:
            raise TypeError(
                "dispatcher=None: must be a ReceiveDispatcher: set `dispatcher` of ReceiveEndpointParams"
            )
        self.receiver_id = params.receiver_id
        self._dispatcher = params.dispatcher
        self._channel = datagrams
        self._has_fixed_control = control is not None
        self._fixed_control = SocketAddress() if control is None else control.copy()
        self._new_control = SocketAddress()
        self._has_new_control = AtomicLong()
        self._last_received_ns = AtomicLong(params.clock.nano_time())
        self._source = SocketAddress()
        self._received = ReceiveBatch() if params.batch is None else params.batch
        self._setup = Setup()
        self._rttm = Rttm()
        self._frame = AtomicBuffer.allocate(MAX_CONTROL_FRAME_LENGTH)
        self._outgoing = SendBatch()
        self._has_group_tag = params.group_tag is not None
        self._group_tag = params.group_tag or 0
        self._data_loss = LossGenerator(params.data_loss)
        self._control_loss = LossGenerator(params.control_loss)
        self._loses_data = params.data_loss.rate > 0
        self._loses_control = params.control_loss.rate > 0
        self._incoming_loss = IncomingLoss(params.incoming_losses)
        stamps = EndpointParameters.parse(params.timestamps_uri)
        self._clock = params.clock
        self._stamps_media = stamps.media_rcv_timestamp_offset is not None
        self._stamps_channel = stamps.channel_rcv_timestamp_offset is not None
        self._media_stamp_offset = stamps.media_rcv_timestamp_offset or 0
        self._channel_stamp_offset = stamps.channel_rcv_timestamp_offset or 0
        self._media_time_ns = 0
        self._faults = FaultSlot(describe_fault, "socket")
        self._bytes_received = params.counters["bytes_received"]
        self._invalid_packets = params.counters["invalid_packets"]
        self._short_sends = params.counters["short_sends"]

    def local_addresses(self) -> list[str]:
        """See `ChannelEndpoint.local_addresses`."""
        return [str(self._channel.local_address())]

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        return self._faults.take()

    def close(self) -> None:
        """See `ChannelEndpoint.close`."""
        self._channel.close()

    def last_received_ns(self) -> int | None:
        """See `ReceiveChannelEndpoint.last_received_ns`; None without a fixed control address."""
        return self._last_received_ns.get_acquire() if self._has_fixed_control else None

    def change_control(self, address: SocketAddress) -> bool:
        """See `ReceiveChannelEndpoint.change_control`."""
        if not self._has_fixed_control or self._has_new_control.get_acquire():
            return False
        local = self._channel.local_address()
        if address.family != local.family:
            raise OSError(
                errno.EAFNOSUPPORT,
                f"cannot send status messages to {address} from a socket bound to {local}: "
                "both must be IPv4, or both IPv6: let the name resolve to such an address",
            )
        self._new_control.assign(address)
        # Release: a receiver that sees the flag also sees the complete address.
        self._has_new_control.set_release(1)
        return True

    def descriptor(self) -> int:
        """See `ReceiveChannelEndpoint.descriptor`."""
        return self._channel.descriptor()

    def poll(self, now_ns: int) -> int:
        """See `ReceiveChannelEndpoint.poll`."""
        received = 0
        for slot in range(self._channel.receive(self._received)):
            received += self._on_slot(slot, now_ns)
        if received > 0:
            self._bytes_received.get_and_add(received)
        if self._channel.error_code != 0:
            self._source.clear()
            self._keep_error(self._source)
        return received

    def _on_slot(self, slot: int, now_ns: int) -> int:
        self._received.copy_source(slot, self._source)
        self._media_time_ns = self._received.time_of(slot)
        offset = self._received.offset_of(slot)
        end = offset + self._received.length_of(slot)
        segment_length = self._received.segment_length_of(slot)
        if offset == end:
            return self._refuse(wire.FRAME_TOO_SHORT)
        while offset < end:
            step = min(segment_length, end - offset)
            self._on_packet(offset, step, now_ns)
            offset += step
        return self._received.length_of(slot)

    def _on_packet(self, offset: int, length: int, now_ns: int) -> int:
        frame_type = validate(self._received.buffer, offset, length)
        if frame_type < 0:
            return self._refuse(frame_type)
        if self._is_lost(offset, length):
            return 0
        if self._has_fixed_control:
            self._last_received_ns.set_release(now_ns)
        if frame_type in (wire.TYPE_DATA, wire.TYPE_PAD):
            return self._on_data(offset, length, now_ns)
        if frame_type == wire.TYPE_SETUP:
            return self._on_setup(offset, length, now_ns)
        if frame_type == wire.TYPE_RTTM:
            return self._on_rttm(offset, length, now_ns)
        # Valid frames that are meant for senders are ignored, as in the reference.
        return 0

    def _is_lost(self, offset: int, length: int) -> bool:
        if self._loses_data and self._data_loss.should_drop():
            return True
        return self._incoming_loss.is_any and self._incoming_loss.should_drop(
            self._received.buffer, offset, length
        )

    def _on_data(self, offset: int, length: int, now_ns: int) -> int:
        if self._stamps_media or self._stamps_channel:
            self._stamp(offset, offset + length)
        used = self._dispatcher.on_data(self, self._received.buffer, offset, length, self._source, now_ns)
        return self._refuse(used) if used < 0 else used

    def _stamp(self, offset: int, end: int) -> int:
        """Write the receive timestamps into each frame that begins a message and has space for them; return 0."""
        now_ns = self._clock.epoch_ns()
        # The kernel may have no timestamp for datagrams that arrived before the socket option was set.
        media_ns = self._media_time_ns if self._media_time_ns > 0 else now_ns
        while offset + wire.DATA_HEADER_LENGTH <= end:
            length = self._received.buffer.get_i32(offset)
            # The image validates the frames; here, only bytes outside the packet must not be touched.
            if length < wire.DATA_HEADER_LENGTH or length > end - offset:
                return 0
            if self._begins_message(offset):
                if self._stamps_media:
                    self._put_time(offset, length, self._media_stamp_offset, media_ns)
                if self._stamps_channel:
                    self._put_time(offset, length, self._channel_stamp_offset, now_ns)
            offset += positions.align_frame(length)
        return 0

    def _begins_message(self, offset: int) -> bool:
        return (
            self._received.buffer.get_u8(offset + wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA
            and self._received.buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET) & wire.DATA_FLAG_BEGIN != 0
        )

    def _put_time(self, offset: int, length: int, payload_offset: int, time_ns: int) -> int:
        at = wire.DATA_HEADER_LENGTH + payload_offset
        if at + _TIMESTAMP_LENGTH <= length:
            self._received.buffer.put_i64(offset + at, time_ns)
        return 0

    def _on_setup(self, offset: int, length: int, now_ns: int) -> int:
        self._setup.decode(self._received.buffer, offset, length)
        if not self._setup.is_valid():
            return self._refuse(wire.FRAME_BAD_FIELD)
        return self._dispatcher.on_setup(self, self._setup, self._source, now_ns)

    def _on_rttm(self, offset: int, length: int, now_ns: int) -> int:
        self._rttm.decode(self._received.buffer, offset, length)
        if not self._rttm.is_for(self.receiver_id):
            return 0
        return self._dispatcher.on_rttm(self, self._rttm, self._source, now_ns)

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_status_message`."""
        sm.receiver_id = self.receiver_id
        sm.has_group_tag = self._has_group_tag
        sm.group_tag = self._group_tag
        return self._send_frame(sm.encode(self._frame, 0), control)

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_nak`."""
        return self._send_frame(nak.encode(self._frame, 0), control)

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_rttm`."""
        rttm.receiver_id = self.receiver_id
        return self._send_frame(rttm.encode(self._frame, 0), control)

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_error`."""
        error.receiver_id = self.receiver_id
        error.group_tag = self._group_tag if self._has_group_tag else wire.NO_GROUP_TAG
        error.flags = wire.ERR_FLAG_HAS_GROUP_TAG if self._has_group_tag else 0
        return self._send_frame(error.encode(self._frame, 0), control)

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_response_setup`."""
        return self._send_frame(setup.encode(self._frame, 0), control)

    def _send_frame(self, length: int, sender: SocketAddress) -> int:
        if self._has_fixed_control:
            if self._has_new_control.get_acquire():
                self._fixed_control.assign(self._new_control)
                self._has_new_control.set_release(0)
            return self._send_frame_to(length, self._fixed_control)
        return self._send_frame_to(length, sender)

    def _send_frame_to(self, length: int, control: SocketAddress) -> int:
        if not control.is_set():
            return 0
        if self._loses_control and self._control_loss.should_drop():
            return length
        self._outgoing.clear()
        self._outgoing.add(self._frame, 0, length, length)
        if self._channel.send(self._outgoing, control) == 1:
            return length
        self._short_sends.get_and_add(1)
        if self._channel.error_code != 0:
            self._keep_error(control)
        return 0

    def _refuse(self, reason: int) -> int:
        self._invalid_packets.get_and_add(1)
        self._faults.keep(reason, 0, 0, 0, self._source)
        return 0

    def _keep_error(self, peer: SocketAddress) -> int:
        self._faults.keep(0, 0, 0, self._channel.error_code, peer)
        self._channel.error_code = 0
        return 0
