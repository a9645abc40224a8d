"""What the two ends of a WebSocket connection of SP must agree on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_media.sp.parameters import Protocol

#: Protocol numbers by subprotocol. Source: sp-websocket-v1 of nanomsg/rfcs, and nng's pair.c of both protocols.
PROTOCOLS: Final = {protocol.subprotocol: protocol.number for protocol in Protocol}


@dataclass(frozen=True)
class WsParams:
    """Raises ConfigurationError for what cannot stand in a request.

    `host` is the Host that who dials names: that of the URI, with its port. `max_message_length` is for what is
    received, in bytes of a WebSocket message: the header of SP counts.
    """

    subprotocol: str
    host: str
    path: str
    max_message_length: int

    def __post_init__(self) -> None:
        """Look at what a URI says."""
        if self.subprotocol not in PROTOCOLS:
            raise ConfigurationError(
                f"subprotocol {self.subprotocol!r}: must be one of {', '.join(PROTOCOLS)}"
            )
        if not re.fullmatch(r"/[!-\"$->@-~]*", self.path):
            raise ConfigurationError(
                f"path={self.path}: must begin with / and have neither spaces nor any of #?"
            )
        if not re.fullmatch(r"[!-~]{1,255}", self.host):
            raise ConfigurationError(f"host {self.host!r}: must be a name or an address, and a port")
