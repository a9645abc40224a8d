"""One address at which a subscription of `control-mode=manual` receives: a socket of its own.

What it receives goes to the dispatcher of its endpoint, as if it were the endpoint itself.
Source: aeron_receive_destination.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor import stream_counters
from aeron_core.driver.conductor.endpoints.control_address import ControlAddress
from aeron_core.errors import ErrorCode

if TYPE_CHECKING:
    from aeron_core._native.counter import Counter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.receiver.dispatcher import Dispatcher
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint
    from aeron_core.spi.media import Channel, MediaTransport, ReceiveEndpointParams

#: What tells two destinations apart whose ports the operating system chose.
_ADDRESS_KEYS = ("endpoint", "interface", "control")


class ReceiveDestination:
    """Used by the conductor only."""

    #: What the receiver works with.
    native: ReceiveChannelEndpoint

    def __init__(
        self,
        context: DriverContext,
        dispatcher: Dispatcher,
        transport: MediaTransport,
        params: ReceiveEndpointParams,
        registration_id: int,
    ) -> None:
        """Open the socket; `registration_id` is that of the subscription. Raises OSError."""
        self._context = context
        self._transport = transport
        self._addresses: list[Counter] = []
        self.channel = params.channel
        self.native = transport.open_receive_endpoint(params)
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
            self._closed()
            raise
        self.control = ControlAddress(params.channel, self.native)
        self._context.receiver.send(operations.ADD_RECEIVE_ENDPOINT, self.native, dispatcher)

    def is_at(self, channel: Channel) -> bool:
        """Return whether `channel` names this destination."""
        return self.channel.canonical_form == channel.canonical_form or all(
            self.channel.uri.get(key) == channel.uri.get(key) for key in _ADDRESS_KEYS
        )

    def record_fault(self) -> None:
        """Keep the last malformed datagram in the error log, once for each reason and source."""
        fault = self.native.take_fault()
        if fault is not None:
            reason, source = fault
            self._context.errors.record(
                ErrorCode.UNUSED, f"datagram from {source} on {self.channel.uri}: {reason}"
            )

    def close(self) -> None:
        """Take the socket from the receiver, then close it."""
        self._context.receiver.remove(operations.REMOVE_RECEIVE_ENDPOINT, self.native, then=self._closed)

    def close_socket(self) -> None:
        """Let go of the socket; the receiver does not use it any more."""
        self._transport.close_endpoint(self.native)

    def _closed(self) -> None:
        self.close_socket()
        for counter in self._addresses:
            self._context.counters.free(counter.id)
        self._addresses.clear()
