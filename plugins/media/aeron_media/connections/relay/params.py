"""Parameters of a relay thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aeron_core._native.address import SocketAddress
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.relay.session import Session


@dataclass(frozen=True)
class RelayParams:
    """Parameters of one relay thread; `name` is part of the thread's name.

    The thread calls `new_session`, which may raise OSError and ValueError. TCP and the handshake of the
    session must complete within `handshake_limit_s`. While a message is incomplete, no pause between received
    bytes may be longer than `message_limit_s`, by default that of message-timeout= of SP. `now` returns seconds
    of the monotonic clock.
    """

    name: str
    new_session: Callable[[SocketAddress], Session]
    faults: RelayFaults
    handshake_limit_s: float
    message_limit_s: float = 30.0
    now: Callable[[], float] = time.monotonic
