"""UDP send endpoint: sends data, and receives what receivers send back.

Not here: what to send and when (the streams), opening the socket (`transport`), and frames of receivers
(`receiver_feedback`).
Invariant: nothing is allocated per datagram.
Source: aeron_send_channel_endpoint.c.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.aeron_core._native.pointers import pair_key
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.datagrams import DatagramChannel, SendBatch
from aeron_core._native.pointers import PointerMap
from aeron_core.spi.endpoints import Fault, SendChannelEndpoint, SendStream
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_media._native import limits
from aeron_media._native.destination_table import FanOut
from aeron_media.fault_slot import FaultSlot
from aeron_media.udp.destinations import Destinations
from aeron_media.udp.fault_texts import describe_fault
from aeron_media.udp.lossy_sender import LossySender
from aeron_media.udp.receiver_feedback import ReceiverFeedback
from aeron_media.udp.response_receivers import ResponseReceivers

if TYPE_CHECKING:
    from aeron_core.spi.media import SendEndpointParams

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION


class UdpSendEndpoint(SendChannelEndpoint):
    """Endpoint of one address or several destinations; a response channel sends each stream to its own receiver.

    Its base classes document which of its methods run on the sender. `control`: the socket that receives, if it is not
    `datagrams`.
    """

    def __init__(
        self,
        params: SendEndpointParams,
        datagrams: DatagramChannel,
        remote: SocketAddress,
        control: DatagramChannel | None = None,
        destinations: Destinations | None = None,
    ) -> None:
        requested = EndpointParameters.parse(params.channel.uri)
        self._channel = datagrams
        self._control = datagrams if control is None else control
        self._remote = remote.copy()
        self._is_multi_destination = destinations is not None
        if destinations is not None:
            self._destinations = destinations
        self._fan_out = FanOut()
        self._new_remote = SocketAddress()
        self._has_new_remote = AtomicLong()
        self._streams = PointerMap()
        self._answers = requested.is_response
        self._receivers = ResponseReceivers()
        self._lossy = LossySender(datagrams, params.data_loss)
        self._loses_data = params.data_loss.rate > 0
        self._clock = params.clock
        stamp_offset = requested.channel_snd_timestamp_offset
        self._stamps = stamp_offset is not None
        self._stamp_offset = stamp_offset or 0
        self._faults = FaultSlot(describe_fault, "socket")
        self._feedback = ReceiverFeedback(
            params, self._streams, self._faults, destinations, self._receivers if self._answers else None
        )
        self._received = self._feedback.batch
        self._bytes_sent = params.counters["bytes_sent"]

    def local_addresses(self) -> list[str]:
        """See `ChannelEndpoint.local_addresses`."""
        return [str(self._control.local_address())]

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        return self._faults.take()

    def close(self) -> None:
        """See `ChannelEndpoint.close`."""
        self._channel.close()
        if self._control is not self._channel:
            self._control.close()

    def add_destination(self, address: SocketAddress, registration_id: int) -> bool:
        """See `SendChannelEndpoint.add_destination`."""
        return self._is_multi_destination and self._destinations.order_addition(address, registration_id)

    def remove_destination(self, address: SocketAddress) -> bool:
        """See `SendChannelEndpoint.remove_destination`."""
        return self._is_multi_destination and self._destinations.order_removal(address)

    def remove_destination_by_id(self, registration_id: int) -> bool:
        """See `SendChannelEndpoint.remove_destination_by_id`."""
        return self._is_multi_destination and self._destinations.order_removal_by_id(registration_id)

    def change_destination(self, registration_id: int, address: SocketAddress) -> bool:
        """See `SendChannelEndpoint.change_destination`."""
        family = self._channel.local_address().family
        if address.family != family:
            raise OSError(
                errno.EAFNOSUPPORT,
                f"cannot send to {address} from a socket bound to {self._channel.local_address()}: "
                "both must be IPv4, or both IPv6: let the name resolve to such an address",
            )
        return self._is_multi_destination and self._destinations.order_change(registration_id, address)

    def take_silent_destinations(self) -> list[int]:
        """See `SendChannelEndpoint.take_silent_destinations`."""
        return self._destinations.order_reports() if self._is_multi_destination else []

    def change_remote(self, address: SocketAddress) -> bool:
        """See `SendChannelEndpoint.change_remote`."""
        if self._is_multi_destination or self._answers or self._has_new_remote.get_acquire():
            return False
        if address.family != self._remote.family:
            raise OSError(
                errno.EAFNOSUPPORT,
                f"cannot send to {address} from a socket that sends to {self._remote}: "
                "both must be IPv4, or both IPv6: let the name resolve to such an address",
            )
        self._channel.connect(address)
        self._new_remote.assign(address)
        # Release: a sender that sees the flag also sees the complete address.
        self._has_new_remote.set_release(1)
        return True

    def add_stream(self, stream: SendStream) -> int:
        """See `SendChannelEndpoint.add_stream`."""
        self._streams.put(
            pair_key(stream.stream_id, stream.session_id), cython.cast(cython.pointer(PyObject), stream)
        )
        return 0

    def remove_stream(self, stream: SendStream) -> int:
        """See `SendChannelEndpoint.remove_stream`; another stream with the same ids stays."""
        key = pair_key(stream.stream_id, stream.session_id)
        if self._streams.get(key) == cython.cast(cython.pointer(PyObject), stream):
            self._streams.remove(key)
            if self._answers:
                self._receivers.remove(key)
        return 0

    def send(self, stream: SendStream, batch: SendBatch) -> int:
        """See `SendChannelEndpoint.send`; datagrams without a destination, or lost on purpose, count as sent."""
        if self._answers and not self._receivers.find(
            pair_key(stream.stream_id, stream.session_id), self._remote
        ):
            # No receiver has requested the stream yet: drop the data, as if all was sent.
            return batch.count
        if self._stamps:
            batch.stamp(self._stamp_offset, self._clock.epoch_ns())
        if self._is_multi_destination:
            return self._send_to_all(batch)
        return self._send_to_remote(batch)

    def _send_to_all(self, batch: SendBatch) -> int:
        # Unlike in the reference, a destination that fails does not stop sending to the others.
        count = self._destinations.start_round()
        if count == 0:
            return batch.count
        self._fan_out.begin(batch)
        is_sent = False
        for turn in range(count):
            self._destinations.copy_address(turn, self._remote)
            # The address is not set while a name is being resolved.
            if self._remote.is_set():
                self._fan_out.note(batch, self._send_to_remote(batch))
                is_sent = True
        return self._fan_out.end(batch) if is_sent else batch.count

    def _send_to_remote(self, batch: SendBatch) -> int:
        if self._has_new_remote.get_acquire():
            self._remote.assign(self._new_remote)
            self._has_new_remote.set_release(0)
        taken = (
            self._lossy.send(batch, self._remote)
            if self._loses_data
            else self._channel.send(batch, self._remote)
        )
        if self._channel.error_code != 0:
            self._keep_error(self._remote)
        self._bytes_sent.get_and_add(batch.length_of_first(taken))
        return taken

    def descriptor(self) -> int:
        """See `SendChannelEndpoint.descriptor`; NO_DESCRIPTOR if the channel has several destinations.

        Then `poll` removes or reports silent destinations, and must be called even if nothing is received.
        """
        if self._is_multi_destination:
            return wire.NO_DESCRIPTOR
        return self._control.descriptor()

    def poll(self, now_ns: int) -> int:
        """See `SendChannelEndpoint.poll`.

        Receives status messages until none is left, though at most MAX_FEEDBACK_RECEIVES times. A NAK ends the poll: it
        may have a part of a term sent again, and new data must not wait for many of these.
        """
        frames = 0
        self._feedback.has_nak = False
        if self._is_multi_destination:
            self._destinations.process(now_ns)
        for _ in range(limits.MAX_FEEDBACK_RECEIVES):
            count = self._control.receive(self._received)
            for slot in range(count):
                frames += self._feedback.on_slot(slot, now_ns)
            # Compared with what the socket has returned: of sealed datagrams, some may have been refused. If all were,
            # the channel has received several times already.
            if count == 0 or self._received.received < self._received.slots or self._feedback.has_nak:
                break
        if self._control.error_code != 0:
            self._faults.keep(0, 0, 0, self._control.error_code, self._remote)
            self._control.error_code = 0
        return frames

    def _keep_error(self, peer: SocketAddress) -> int:
        self._faults.keep(0, 0, 0, self._channel.error_code, peer)
        self._channel.error_code = 0
        return 0
