import re
import time

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.conductor.driver_proxy import DriverProxy
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ClientError
from aeron_core.protocol import commands

HOUR_MS = 3_600_000


def error_of_a_full_ring(heartbeat_ms):
    ring = ManyToOneRingBuffer(AtomicBuffer.allocate(1024 + wire.RING_TRAILER_LENGTH))
    ring.consumer_heartbeat_ms = heartbeat_ms
    proxy = DriverProxy(ring)
    while ring.write(1, b"x" * 64):
        pass
    with pytest.raises(ClientError, match="full in each of 10 attempts") as caught:
        proxy.send(commands.TerminateDriver, b"x" * 64)
    return str(caught.value)


@pytest.mark.parametrize(
    ("heartbeat_ms", "state"), [(-1, "has shut down: start it"), (0, "has not started: wait")]
)
def test_a_full_ring_without_a_heartbeat_is_reported_with_the_state_of_the_driver(heartbeat_ms, state):
    assert f"the driver {state}" in error_of_a_full_ring(heartbeat_ms)


@pytest.mark.parametrize(("before_ms", "shown"), [(HOUR_MS, r"36\d{5}"), (-HOUR_MS, "0")])
def test_a_full_ring_is_reported_with_the_age_of_the_heartbeat(before_ms, shown):
    text = error_of_a_full_ring(time.time_ns() // 1_000_000 - before_ms)

    assert re.search(rf"may have stopped \(last heartbeat {shown} ms ago\)", text)
