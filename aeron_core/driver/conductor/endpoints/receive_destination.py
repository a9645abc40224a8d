"""A destination of a subscription with `control-mode=manual`: a socket at one address.

It delivers frames to the dispatcher of its endpoint, as the endpoint itself would.
Source: aeron_receive_destination.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.endpoints.control_address import ControlAddress
from aeron_core.driver.conductor.endpoints.endpoint_entry import record_endpoint_fault
from aeron_core.spi.endpoints import ReceiveChannelEndpoint

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.receiver.dispatcher import Dispatcher
    from aeron_core.spi.media import Channel, MediaTransport, ReceiveEndpointParams

#: Parameters that identify a destination whose port the operating system chose.
_ADDRESS_KEYS = ("endpoint", "interface", "control")


class ReceiveDestination:
    """One destination and its socket. Used by the conductor only."""

    #: The endpoint as the receiver sees it.
    native: ReceiveChannelEndpoint

    def __init__(
        self,
        context: DriverContext,
        dispatcher: Dispatcher,
        transport: MediaTransport,
        params: ReceiveEndpointParams,
        registration_id: int,
    ) -> None:
        """Open the socket; `registration_id` is that of the subscription.

        Raises OSError if it cannot be opened, StorageError if no counter is free.
        """
        self._context = context
        self._transport = transport
        self._addresses: list[AtomicCounter] = []
        self.channel = params.channel
        self.native = context.registry.check_endpoint(
            params.channel.uri.media, transport.open_receive_endpoint(params), ReceiveChannelEndpoint
        )
        try:
            for address in transport.local_addresses(self.native):
                self._addresses.append(
                    stream_counters.allocate_local_address(
                        self._context.counters,
                        "rcv-local-sockaddr",
                        params.channel_status_id,
                        address,
                        registration_id,
                    )
                )
        except BaseException:
            # The receiver does not have the socket yet, so it can be closed at once.
            self._closed()
            raise
        self.control = ControlAddress(params.channel, self.native)
        # From here on the receiver polls the socket: it stays open until the removal is confirmed.
        self._context.receiver.send(operations.ADD_RECEIVE_ENDPOINT, self.native, dispatcher)

    def is_at(self, channel: Channel) -> bool:
        """Return whether `channel` has this canonical form, or the same `endpoint`, `interface` and `control`."""
        return self.channel.canonical_form == channel.canonical_form or all(
            self.channel.uri.get(key) == channel.uri.get(key) for key in _ADDRESS_KEYS
        )

    def record_fault(self) -> None:
        """Log the pending fault, such as a malformed datagram: one entry per reason, with the last source."""
        fault = self.native.take_fault()
        if fault is not None:
            record_endpoint_fault(self._context, fault, f"datagram on {self.channel.uri}")

    def close(self) -> None:
        """Remove the socket from the receiver, then close it."""
        # The callback frees counters and socket of the destination, after the receiver has released it.
        self._context.receiver.remove(operations.REMOVE_RECEIVE_ENDPOINT, self.native, then=self._closed)

    def close_socket(self) -> None:
        """Close the socket; only after the receiver has stopped using it."""
        self._transport.close_endpoint(self.native)

    def _closed(self) -> None:
        self.close_socket()
        for counter in self._addresses:
            self._context.counters.free(counter.id)
        self._addresses.clear()
