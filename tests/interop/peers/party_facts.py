"""What our and the Java client show of their objects, in one form, and waiting for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

DEADLINE_S = 30
#: Driver timeout of clients whose driver is killed: half of the default, since a test waits for its end. Not shorter: a
#: loaded machine delays the heartbeat of a driver that runs by seconds, and its client would close itself before.
DRIVER_TIMEOUT_MS = 5000
#: Timeouts of drivers whose clients or peers are killed: half of the defaults, for the same reasons. That of
#: connections is 5 s by default; that of unblocking must be longer than that of clients.
QUICK = {
    "AERON_CLIENT_LIVENESS_TIMEOUT": "5s",
    "AERON_IMAGE_LIVENESS_TIMEOUT": "5s",
    "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "7500ms",
}


def own_address() -> str:
    """Return a loopback address that no other process of the tests uses: fixed ports there are those of this one."""
    process_id = os.getpid()
    return f"127.{128 + (process_id >> 16 & 0x3F)}.{process_id >> 8 & 0xFF}.{process_id & 0xFF}"


def await_true(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; fail after 30 s."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"timeout while waiting for {what}"
        # Yield the CPU to the other processes.
        time.sleep(0.0001)


@dataclass(frozen=True)
class Rejection:
    """Notification of a publisher that a receiver has rejected its image."""

    registration_id: int
    stream_id: int
    error_code: int
    host: str
    destination_id: int
    reason: str


@dataclass(frozen=True)
class ImageFacts:
    """Parameters of an image, as its client shows them."""

    session_id: int
    correlation_id: int
    mtu: int
    initial_term_id: int
    join_position: int
    term_length: int
    position: int


@dataclass(frozen=True)
class CounterFacts:
    """A counter, as a client shows it."""

    counter_id: int
    type_id: int
    value: int
    owner_id: int
    registration_id: int
