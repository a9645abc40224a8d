"""Base of the conductor's records of channel endpoints: status, bound addresses and counters.

A channel endpoint may be shared by the streams of several channels (see `shared_endpoints`), and is closed
with the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.concurrent import counter_types
from aeron_core.driver import events
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.endpoints.protection import close_protector, open_protector, profile_of
from aeron_core.driver.conductor.error_sink import Cause, CommandRefusedError
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.endpoint_parameters import RESERVED_VALUE_OFFSET, EndpointParameters

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.counter import AtomicCounter
    from aeron_core._native.peers import PeerCounter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.spi.endpoints import ChannelEndpoint as NativeEndpoint
    from aeron_core.spi.endpoints import Fault
    from aeron_core.spi.media import Channel, MediaTransport
    from aeron_core.spi.protection import DatagramProtector, ProtectedRole


class EndpointEntry:
    """One channel endpoint. Used by the conductor only."""

    #: The endpoint as its agent sees it.
    native: NativeEndpoint

    def __init__(
        self,
        context: DriverContext,
        transport: MediaTransport,
        channel: Channel,
        key: str,
        registration_id: int,
    ) -> None:
        self.context = context
        self.transport = transport
        self.channel = channel
        self.registration_id = registration_id
        self.tag = channel.uri.channel_tag
        #: Key in the registrar's table of endpoints.
        self.key = key
        self._label = ""
        self._addresses: list[str] = []
        self._address_counters: list[AtomicCounter] = []
        self._media_counters: list[AtomicCounter] = []
        #: What seals the datagrams of the endpoint; None if its channel is plain.
        self.protector: DatagramProtector | None = None

    def open_protector(self, role: ProtectedRole) -> None:
        """Open the protector, if the channel is secured; call it before the sockets are opened.

        `free_counters` closes it. Raises as `profile_of` and `open_protector` of `protection`.
        """
        profile = profile_of(self.context.settings, self.transport, self.channel.uri)
        if profile is not None:
            self.protector = open_protector(
                self.context, profile, role, self._new_protector_counter, self.new_refusal_counter
            )

    def frame_mtu(self, mtu: int) -> int:
        """Return the maximum length of frames in bytes for datagrams of at most `mtu` bytes, a multiple of 32.

        Raises ChannelUriError if the channel is secured and `mtu` is too short for that.
        """
        if self.protector is None:
            return mtu
        overhead = self.protector.overhead
        length = (mtu - overhead) // wire.FRAME_ALIGNMENT * wire.FRAME_ALIGNMENT
        if length < wire.MIN_MTU_LENGTH:
            raise ChannelUriError(
                f"mtu={mtu} in {self.channel.uri}: must be at least {wire.MIN_MTU_LENGTH + overhead}, of which "
                f"{overhead} bytes are for security={self.channel.uri.get('security')}",
                ErrorCode.GENERIC_ERROR,
            )
        return length

    @property
    def current_local(self) -> SocketAddress | None:
        """Local or control address of the channel, after any re-resolution; None if it has none."""
        return self.channel.local

    @property
    def current_remote(self) -> SocketAddress | None:
        """Remote address of the channel, after any re-resolution; None if it has none."""
        return self.channel.remote

    def allocate_status(self, type_id: int, name: str) -> AtomicCounter:
        """Return a new counter that the caller frees: the channel status, or the number of destinations.

        Raises StorageError if no counter is free.
        """
        return stream_counters.allocate_channel_counter(
            self.context.counters, type_id, name, str(self.channel.uri), self.registration_id
        )

    def new_counter(self, name: str) -> AtomicCounter:
        """Return a new counter for the medium, which `free_counter` or `free_counters` frees.

        Raises StorageError if no counter is free.
        """
        return self._new_counter(counter_types.MEDIA, name)

    def new_refusal_counter(self, name: str) -> AtomicCounter:
        """Return a new counter of connections refused, by this driver or by peers, for one reason.

        Raises StorageError if no counter is free.
        """
        return self._new_counter(counter_types.REFUSALS, name)

    def _new_protector_counter(self, name: str) -> AtomicCounter:
        return self._new_counter(counter_types.PROTECTION, name)

    def new_peer_counter(self, name: str) -> PeerCounter:
        """Return a new counter that shows clients whether a peer is connected.

        Raises StorageError if no counter is free.
        """
        counter = stream_counters.allocate_peer_counter(
            self.context.counters, name, str(self.channel.uri), self.registration_id
        )
        # The endpoint owns these counters: `free_counters` frees them after the agent has released the endpoint.
        self._media_counters.append(counter.counter)
        return counter

    def _new_counter(self, type_id: int, name: str) -> AtomicCounter:
        self._media_counters.append(
            stream_counters.allocate_channel_counter(
                self.context.counters, type_id, name, str(self.channel.uri), self.registration_id
            )
        )
        return self._media_counters[-1]

    def free_counter(self, counter: AtomicCounter) -> None:
        """Free a counter of the medium that a `new_…` method of this endpoint returned."""
        self._media_counters.remove(counter)
        self.context.counters.free(counter.id)

    def publish_addresses(self, status: AtomicCounter, name: str) -> None:
        """Publish the bound addresses and set the status to active.

        On an exception, such as StorageError if no counter is free, close the sockets, free the counters and raise it.
        """
        # The label without addresses: after each change, the current addresses are appended to it.
        self._label = self.context.counters.label(status.id)
        try:
            self._state_addresses(status, name)
        except BaseException:
            self.transport.close_endpoint(self.native)
            self.free_counters(status)
            raise
        # Release: a client that sees the active status also finds the bound addresses.
        status.set_release(counter_types.CHANNEL_STATUS_ACTIVE)

    def update_addresses(self, status: AtomicCounter, name: str) -> None:
        """Publish the bound addresses again if they have changed. Raises StorageError if no counter is free."""
        # The operating system chooses a local address when a socket is connected.
        if self.transport.local_addresses(self.native) != self._addresses:
            self._free_addresses()
            self._state_addresses(status, name)

    def _state_addresses(self, status: AtomicCounter, name: str) -> None:
        self._addresses = self.transport.local_addresses(self.native)
        for address in self._addresses:
            self._address_counters.append(
                stream_counters.allocate_local_address(
                    self.context.counters, name, status.id, address, self.registration_id
                )
            )
        # Like the reference, this leaves a trailing blank if there is no bound address.
        self.context.counters.set_label(status.id, f"{self._label} {' '.join(self._addresses)}")

    def _free_addresses(self) -> None:
        for counter in self._address_counters:
            self.context.counters.free(counter.id)
        self._address_counters.clear()

    def check_timestamps(self, channel: Channel, *keys: str) -> None:
        """Raise CommandRefusedError unless `channel` has the same timestamp offsets as the endpoint's channel.

        `keys`: the parameters to compare. A key that neither channel sets counts as the same.
        """
        # The endpoint writes a timestamp into each frame at one offset, the same for all its streams.
        requested, existing = (EndpointParameters.parse(each.uri) for each in (channel, self.channel))
        for key in keys:
            offset = requested.timestamp_offset(key)
            if offset != existing.timestamp_offset(key):
                raise CommandRefusedError(
                    f"option conflicts with existing subscription: {key}={_as_text(offset)} "
                    f"existingChannel={self.channel.uri} channel={channel.uri}: must be the same for all channels "
                    f"of an endpoint, use the existing value or another endpoint"
                )

    def free_counters(self, status: AtomicCounter) -> None:
        """Free the status and the counters of addresses and of the medium, and close the protector.

        The sockets are closed, so that no agent uses the endpoint.
        """
        self._close_protector()
        self._free_addresses()
        for counter in self._media_counters:
            self.context.counters.free(counter.id)
        self._media_counters.clear()
        self.context.counters.free(status.id)

    def close_sockets(self) -> None:
        """Close all sockets and the protector; only after the agents have stopped."""
        self.transport.close_endpoint(self.native)
        self._close_protector()

    def _close_protector(self) -> None:
        if self.protector is not None:
            close_protector(self.context, self.protector)

    def record_fault(self) -> None:
        """Log the pending fault, such as a malformed datagram: one entry per reason, with the last source."""
        # The agent keeps one fault without text: formatting needs the GIL, and a flood of bad frames must
        # not fill the event log.
        self._record(self.native.take_fault())
        if self.protector is not None:
            try:
                self._record(self.protector.take_fault())
            except Exception as error:
                # The protector is a plugin: its failure must not stop the conductor's other work.
                self.context.errors.record_exception(error, "datagram protector")

    def _record(self, fault: Fault | None) -> None:
        if fault is not None:
            record_endpoint_fault(self.context, fault, f"{self.transport.unit} on {self.channel.uri}")

    def keep_up(self, now_ns: int) -> None:
        """Log faults, update counters that no agent writes, and let the protector work; at each timer."""
        self.record_fault()
        self.native.update_counters()
        if self.protector is not None:
            try:
                self.protector.on_timer(now_ns)
            except Exception as error:
                self.context.errors.record_exception(error, "datagram protector")


def record_endpoint_fault(context: DriverContext, fault: Fault, kind: str) -> None:
    """Log a fault of an endpoint after its `kind`, with the last source beside it, and its detail in the event log."""
    # The reasons of a medium may contain values of peers, against the rule of `Fault`: their number is limited.
    context.errors.record_variable(
        Cause.PEER, ErrorCode.UNUSED, f"{kind}: {fault.reason}", kind=kind, peer=fault.source
    )
    if fault.detail:
        context.events.record(
            events.GENERIC_MESSAGE,
            source=fault.source,
            detail=repr(fault.detail),
            message=f"{kind}: {fault.reason}",
        )


def _as_text(timestamp_offset: int | None) -> str:
    # The text of the reference: the offset with a blank after it, and -1 for a key that is missing.
    if timestamp_offset is None:
        return "-1 (not specified)"
    return f"{timestamp_offset} {'(reserved)' if timestamp_offset == RESERVED_VALUE_OFFSET else ''}"
