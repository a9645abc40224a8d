"""Parameters of relay threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aeron_core._native.address import SocketAddress
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.relay.session import Session


@dataclass(frozen=True)
class RelayParams:
    """Parameters of the relay threads of one network; `name` is part of the names of the threads.

    A thread calls `new_session` with the address of the peer; it may raise OSError and ValueError. TCP and the
    handshake of the session must complete within `handshake_limit_s` seconds. While a message is incomplete, a
    connection without new bytes for `message_limit_s` seconds is ended; the default is that of message-timeout= of SP.
    `now` returns seconds of the monotonic clock.
    """

    name: str
    new_session: Callable[[SocketAddress], Session]
    faults: RelayFaults
    handshake_limit_s: float
    message_limit_s: float = 30.0
    now: Callable[[], float] = time.monotonic
