"""Chains of nng's devices between two of ours: each adds a hop, and one too many ends a message."""

from __future__ import annotations

import pytest
from sp_peers import PEERS, SpPeer

pytestmark = pytest.mark.interop


@pytest.fixture
def chained(ours, url, sp_python):
    """Put a number of devices between two of ours."""
    started = []

    def chain(count, keys=""):
        far = ours("listen", url("tcp"), keys)
        devices = SpPeer(sp_python, PEERS / "pynng_devices.py", count)
        started.append(devices)
        devices.tell("start", listen="tcp://127.0.0.1:0", dial=far.url)
        near = ours("dial", devices.await_event("listening")["url"], keys)
        near.await_peers()
        far.await_peers()
        return near, far

    yield chain
    for each in started:
        each.stop()


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_each_device_adds_a_hop_in_both_directions(chained, count):
    near, far = chained(count)

    for one, other in ((near, far), (far, near)):
        one.send("hello")
        (message,) = other.take()
        assert (message.data, message.hops) == (b"hello", count + 1)


@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_what_has_passed_eight_devices_is_discarded(chained):
    near, far = chained(8)

    near.send("hello")
    far.until(lambda: far.counted("discards-ttl") == 1)

    assert far.received == []


@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_what_has_passed_eight_devices_arrives_where_nine_hops_are_allowed(chained):
    near, far = chained(8, "|ttl=9")

    near.send("hello")

    (message,) = far.take()
    assert message.hops == 9
