"""Chains of nng's and our devices: each adds a hop, and messages over the hop limit are discarded."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack

import pytest
from sp_peers import PEERS, SpPeer, channel_keys

import aeron_core
from aeron_core.device import Device

pytestmark = pytest.mark.interop


@pytest.fixture
def nng_devices(sp_python):
    """Start a chain of nng devices; return the address of the first."""
    started = []

    def start(count, dialed_url):
        devices = SpPeer(sp_python, PEERS / "pynng_devices.py", count)
        started.append(devices)
        devices.command("start", listen="tcp://127.0.0.1:0", dial=dialed_url)
        return devices.await_event("listening")["url"]

    yield start
    for each in started:
        each.stop()


class OurDevices:
    """A chain of our devices in one driver: the first listens at `listened`, the last dials `dialed`."""

    def __init__(self, aeron, name, count, listened, dialed):
        between = [f"abstract://{name}-{number}" for number in range(count - 1)]
        self.last_channel = ""
        self.devices = []
        for near, far in zip([listened, *between], [*between, dialed], strict=True):
            self.last_channel = f"aeron:sp?{channel_keys(far)}|mode=dial|backoff-init=10ms|backoff-max=50ms"
            first = f"aeron:sp?{channel_keys(near)}|mode=listen"
            self.devices.append(Device.join(aeron, first, self.last_channel))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        while not self._is_over.is_set():
            if not sum([each.do_work() for each in self.devices]):
                self._is_over.wait(0.0002)

    def close(self):
        self._is_over.set()
        self._thread.join()
        for each in self.devices:
            each.close()


@pytest.fixture
def our_devices(aeron_dirs, tmp_path):
    """Start a chain of our devices; return them with their client."""
    with ExitStack() as stack:

        def start(count, listened, dialed):
            settings = {"aeron_dir": aeron_dirs(), "perform_storage_checks": False}
            driver = stack.enter_context(aeron_core.MediaDriver.launch(settings))
            aeron = stack.enter_context(aeron_core.connect(driver.aeron_dir))
            made = OurDevices(aeron, tmp_path.name, count, listened, dialed)
            stack.callback(made.close)
            return made, aeron

        yield start


@pytest.fixture
def chained(ours, url, nng_devices):
    """Connect two of our endpoints by a number of nng devices."""

    def chain(count, keys=""):
        far = ours("listen", url("tcp"), keys)
        near = ours("dial", nng_devices(count, far.url), keys)
        near.await_peers()
        far.await_peers()
        return near, far

    return chain


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_each_device_adds_a_hop_in_both_directions(chained, count):
    near, far = chained(count)

    for one, other in ((near, far), (far, near)):
        one.send("hello")
        (message,) = other.take()
        assert (message.data, message.hops) == (b"hello", count + 1)


@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_a_message_is_discarded_after_eight_devices(chained):
    near, far = chained(8)

    near.send("hello")
    far.until(lambda: far.counted("discards-ttl") == 1)

    assert far.received == []


@pytest.mark.compatible("SP PAIR1, devices", "our driver ↔ devices of nng ↔ our driver")
def test_a_message_arrives_after_eight_devices_if_nine_hops_are_allowed(chained):
    near, far = chained(8, "|ttl=9")

    near.send("hello")

    (message,) = far.take()
    assert message.hops == 9


@pytest.fixture
def chained_peers(peer, our_devices, tmp_path):
    """Connect two pynng peers by a number of our devices."""

    def chain(count):
        near, far = peer("pynng"), peer("pynng")
        devices, aeron = our_devices(count, f"ipc://{tmp_path}/near", far.listen(f"ipc://{tmp_path}/far"))
        near.dial(f"ipc://{tmp_path}/near")
        for each in (near, far):
            each.await_event("joined")
        return near, far, devices, aeron

    return chain


@pytest.mark.compatible("SP PAIR1, devices", "pynng ↔ our devices ↔ pynng")
def test_messages_of_nng_peers_pass_seven_of_our_devices_in_both_directions(chained_peers):
    near, far, *_ = chained_peers(7)

    for one, other in ((near, far), (far, near)):
        one.send("hello")
        assert other.texts() == ["hello"]


@pytest.mark.compatible("SP PAIR1, devices", "pynng ↔ our devices ↔ pynng")
def test_nng_discards_a_message_after_eight_of_our_devices(chained_peers):
    near, far, devices, aeron = chained_peers(8)
    publication = aeron.add_exclusive_publication(devices.last_channel, 7)
    publication.await_connected(20)

    near.send("too far")
    while devices.devices[-1].traffic[0].messages < 1:
        pass
    # A later message takes the same path.
    while publication.offer(b"near enough") < 0:
        pass

    assert far.texts() == ["near enough"]


@pytest.fixture
def mixed(ours, url, start, nng_devices, tmp_path):
    """Connect two of our endpoints by `aeron-core device` at each end, with nng devices between them."""

    def chain(count):
        far = ours("listen", url("tcp"))
        inner, outer = (f"aeron:sp?transport=ipc|path={tmp_path}/{name}" for name in ("inner", "outer"))
        _start_command(start, f"{inner}|mode=listen", f"aeron:sp?{channel_keys(far.url)}|mode=dial")
        between = nng_devices(count, f"ipc://{tmp_path}/inner")
        _start_command(start, f"{outer}|mode=listen", f"aeron:sp?{channel_keys(between)}|mode=dial")
        near = ours("dial", f"ipc://{tmp_path}/outer")
        near.await_peers()
        far.await_peers()
        return near, far

    return chain


def _start_command(start, *channels):
    start(sys.executable, "-m", "aeron_core", "device", *channels).await_line("aeron-core: joined")


@pytest.mark.compatible(
    "SP PAIR1, devices", "our driver ↔ aeron-core device ↔ devices of nng ↔ aeron-core device"
)
def test_our_device_command_works_in_a_chain_with_nng_devices(mixed):
    near, far = mixed(5)

    for one, other in ((near, far), (far, near)):
        one.send("hello")
        (message,) = other.take()
        assert (message.data, message.hops) == (b"hello", 8)


@pytest.mark.compatible(
    "SP PAIR1, devices", "our driver ↔ aeron-core device ↔ devices of nng ↔ aeron-core device"
)
def test_a_message_is_discarded_after_our_device_command_as_eighth_device(mixed):
    near, far = mixed(6)

    for one, other in ((near, far), (far, near)):
        one.send("hello")
        other.until(lambda other=other: other.counted("discards-ttl") == 1)

    assert (near.received, far.received) == ([], [])
