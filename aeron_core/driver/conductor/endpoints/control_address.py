"""The control address of a subscription, `control=host:port` in its URI, at which its senders listen.

A sender with dynamic destinations sends only to receivers from which it has received a status message. So the
receiver requests a SETUP at this address, and the conductor resolves its name again when nothing arrives.
Source: aeron_receive_destination.h (aeron_receive_destination_re_resolution_required).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.receiver.image_connections import CONNECTION_TIMEOUT_NS

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint
    from aeron_core.spi.media import Channel


class ControlAddress:
    """The control address of one receiving socket. Used by the conductor only."""

    def __init__(self, channel: Channel, native: ReceiveChannelEndpoint) -> None:
        self.channel = channel
        self.native = native
        self.address = channel.local
        self._lookup_ns = 0

    @property
    def name(self) -> str:
        """Value of `control` in the URI, which must have this key."""
        return self.channel.uri.params["control"]

    def is_silent(self, now_ns: int) -> bool:
        """Return whether nothing was received, and no lookup started, for more than five seconds.

        False if the endpoint does not record when it received something.
        """
        received_ns = self.native.last_received_ns()
        # At most one lookup per timeout while nothing arrives.
        return received_ns is not None and now_ns > max(received_ns, self._lookup_ns) + CONNECTION_TIMEOUT_NS

    def on_look_up(self, now_ns: int) -> None:
        """Record that a lookup of the name has started: `is_silent` is false for five seconds."""
        self._lookup_ns = now_ns

    def change(self, address: SocketAddress) -> bool:
        """Change the address; return whether it was another one and accepted.

        Raises OSError if the new address is unreachable or of another family.
        """
        if address == self.address or not self.native.change_control(address):
            return False
        self.address = address
        return True
