"""Parameters of the WebSocket connections of a channel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_media.sp._native import wire
from aeron_media.sp.parameters import Protocol

#: Protocol numbers by subprotocol. Source: sp-websocket-v1 of nanomsg/rfcs, and nng's pair.c of both protocols.
PROTOCOLS: Final = {protocol.subprotocol: protocol.number for protocol in Protocol}
_HOPS_LENGTHS: Final = {protocol.subprotocol: protocol.hops_length for protocol in Protocol}


@dataclass(frozen=True)
class WsParams:
    """Parameters of WebSocket connections.

    Raises ConfigurationError for an unknown subprotocol, and for values that an HTTP request cannot contain.

    `host`: Host header of the connecting end, with the port, as in the URI. `path`: begins with /.
    `max_message_length`: longest received WebSocket message in bytes, including the header of SP. `ttl`: largest hop
    count of a message that is delivered, from 1 to 255. `accepts_zero_hops`: whether one with a hop count of 0 is.
    """

    subprotocol: str
    host: str
    path: str
    max_message_length: int
    ttl: int = wire.MAX_HOPS
    accepts_zero_hops: bool = True

    def __post_init__(self) -> None:
        """Raise ConfigurationError if a value is not allowed."""
        if self.subprotocol not in PROTOCOLS:
            raise ConfigurationError(
                f"subprotocol {self.subprotocol!r}: must be one of {', '.join(PROTOCOLS)}"
            )
        if not re.fullmatch(r"/[!-\"$->@-~]*", self.path):
            raise ConfigurationError(
                f"path={self.path!r}: must begin with / and contain no spaces, # or ?, and only "
                "printable ASCII characters"
            )
        if not re.fullmatch(r"[!-~]{1,255}", self.host):
            raise ConfigurationError(
                f"host {self.host!r}: must be a host name or address with a port, such as example.com:80, of 1 to "
                "255 printable ASCII characters without spaces"
            )

    def discards(self, message: bytes | bytearray) -> bool:
        """Return whether the agent discards a message because of its hop count, which may be missing."""
        length = _HOPS_LENGTHS[self.subprotocol]
        if length == 0:
            return False
        # The reserved bits are the high ones, so that the number is too large if one is set.
        hops = int.from_bytes(message[:length], "big")
        return len(message) < length or hops > self.ttl or (hops == 0 and not self.accepts_zero_hops)
