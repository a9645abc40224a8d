"""Where the senders of a subscription listen, as far as its URI names a place: `control=host:port`.

Senders that learn their receivers from what these say send nothing to one that they have not heard. So they are
asked for a SETUP there, and looked for under their name once nothing comes from them any more.
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
    """That of one receiving socket. Used by the conductor only."""

    def __init__(self, channel: Channel, native: ReceiveChannelEndpoint) -> None:
        self.channel = channel
        self.native = native
        self._address = channel.local
        self._asked_ns = 0

    @property
    def name(self) -> str:
        """What the URI says."""
        return self.channel.uri.params["control"]

    def is_silent(self, now_ns: int) -> bool:
        """Return whether nothing has come in, and no look-up began, for the timeout."""
        heard_ns = self.native.last_heard_ns()
        return heard_ns is not None and now_ns > max(heard_ns, self._asked_ns) + CONNECTION_TIMEOUT_NS

    def on_look_up(self, now_ns: int) -> None:
        """Take note that the name is being looked up."""
        self._asked_ns = now_ns

    def change(self, address: SocketAddress) -> bool:
        """Answer at another address; return whether that is one. Raises OSError where it cannot be reached."""
        if address == self._address or not self.native.change_control(address):
            return False
        self._address = address
        return True
