"""Throughput of UDP endpoints over loopback: `python benchmarks/udp_endpoints.py`.

Without log buffers, on one thread that sends and receives in turn: bytes per second of its own processor time, so that
other load does not affect the figures.
"""

import time

from aeron_media.udp.transport import UdpTransport

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.spi.endpoints import ReceiveDispatcher
from aeron_core.spi.media import ReceiveEndpointParams, SendEndpointParams
from aeron_core.spi.udp_offload import detect_gro, detect_gso
from aeron_core.testing import (
    ReceiveEndpointProbe,
    RecordingSendStream,
    RunBatch,
    SendEndpointProbe,
    data_frame,
    make_counters,
)
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

DURATION_S = 2.0
MTU = 1408
COUNTERS = (
    "bytes_sent",
    "bytes_received",
    "invalid_packets",
    "short_sends",
    "status_messages_received",
    "naks_received",
    "error_frames_received",
)


def resolve(text, _):
    return SocketAddress.of(*parse_address(text))


class Loop:
    """A sending and a receiving endpoint, and a batch of `entries` runs of `segments` datagrams."""

    def __init__(self, *, offload: bool, entries: int, segments: int) -> None:
        self.transport = UdpTransport()
        self.counters = make_counters(*COUNTERS)
        self.offload = offload
        self.title = f"offload {'on ' if offload else 'off'}  {entries:2} x {segments:2} datagrams per call"
        common = {"dispatcher": ReceiveDispatcher(), "batch": ReceiveBatch(16)}
        receiving = self._params(ReceiveEndpointParams, "127.0.0.1:0", is_publication=False, **common)
        self.receiver = ReceiveEndpointProbe(self.transport.open_receive_endpoint(receiving))
        (address,) = self.receiver.endpoint.local_addresses()
        sending = self._params(SendEndpointParams, address, is_publication=True)
        self.sender = SendEndpointProbe(self.transport.open_send_endpoint(sending))
        self.stream = RecordingSendStream(7, 1001)
        self.batch = RunBatch([(data_frame(bytes(MTU - 32)) * segments, MTU)] * entries)

    def _params(self, kind, endpoint, *, is_publication, **more):
        uri = ChannelUri.parse(f"aeron:udp?endpoint={endpoint}")
        channel = self.transport.resolve_channel(uri, resolve, is_publication=is_publication)
        return kind(channel, 0, None, self.counters, 0, 2 << 20, self.offload, self.offload, **more)

    def report(self, seconds: float) -> None:
        sent, received = self.counters["bytes_sent"].get(), self.counters["bytes_received"].get()
        print(
            f"{self.title}: sent {sent / seconds / 1e6:5.0f} MB/s, "
            f"received {received / seconds / 1e6:5.0f} MB/s"
        )
        self.sender.endpoint.close()
        self.receiver.endpoint.close()


def measure(loop: Loop) -> None:
    """Send a batch and receive it, repeatedly."""
    started = time.thread_time()
    while time.thread_time() - started < DURATION_S:
        loop.sender.send_batch(loop.stream, loop.batch)
        while loop.receiver.poll():
            pass
    loop.report(time.thread_time() - started)


if __name__ == "__main__":
    print(f"loopback, {MTU}-byte datagrams, one thread; GSO {detect_gso()}, GRO {detect_gro()}")
    measure(Loop(offload=False, entries=16, segments=1))
    measure(Loop(offload=True, entries=1, segments=46))
