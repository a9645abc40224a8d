"""What a relay is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aeron_core._native.address import SocketAddress
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.relay.session import Session


@dataclass(frozen=True)
class RelayParams:
    """`name` is that of the thread.

    `new_session` is called by the thread, and may raise OSError and ValueError. TCP and the session's handshake
    must come about within `handshake_limit_s`. A message that was begun must be gone on with within
    `message_limit_s`, where a session knows of messages.
    """

    name: str
    new_session: Callable[[SocketAddress], Session]
    faults: RelayFaults
    handshake_limit_s: float
    message_limit_s: float = 30.0
