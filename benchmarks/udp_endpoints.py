"""Throughput of UDP endpoints over loopback: `python benchmarks/udp_endpoints.py`.

Without log buffers, on one thread that sends and receives in turn: bytes per second of its own processor time, so that
other load does not affect the figures.
"""

import socket
import tempfile
import time
from pathlib import Path

from aeron_media.udp.transport import UdpTransport
from aeron_security.group_secret import GroupSecretProtector
from aeron_security.key_files import write_secret
from aeron_security.options import CIPHERS

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.spi.endpoints import ReceiveDispatcher
from aeron_core.spi.media import ReceiveEndpointParams, SendEndpointParams
from aeron_core.spi.protection import ProtectedRole, ProtectorParams
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
    """A sending and a receiving endpoint, and a batch of `entries` runs of `segments` datagrams.

    `options`: of a security profile; None for plain datagrams. `frame_length`: bytes of each datagram before sealing.
    """

    def __init__(
        self,
        *,
        offload: bool,
        entries: int,
        segments: int,
        options: dict[str, str] | None = None,
        frame_length: int = MTU,
    ) -> None:
        self.options = options
        self.transport = UdpTransport()
        self.counters = make_counters(*COUNTERS)
        self.offload = offload
        cipher = "plain" if options is None else options["cipher"]
        self.title = (
            f"{cipher:17} offload {'on ' if offload else 'off'}  {entries:2} x {segments:2} datagrams of "
            f"{frame_length:5} bytes per call"
        )
        common = {"dispatcher": ReceiveDispatcher(), "batch": ReceiveBatch(16)}
        receiving = self._params(ReceiveEndpointParams, "127.0.0.1:0", is_publication=False, **common)
        self.receiver = ReceiveEndpointProbe(self.transport.open_receive_endpoint(receiving))
        (address,) = self.receiver.endpoint.local_addresses()
        sending = self._params(SendEndpointParams, address, is_publication=True)
        self.sender = SendEndpointProbe(self.transport.open_send_endpoint(sending))
        self.stream = RecordingSendStream(7, 1001)
        frames = data_frame(bytes(frame_length - 32)) * segments
        self.batch = RunBatch([(frames, frame_length)] * entries)
        if options is not None:
            self._prove()

    def _prove(self) -> None:
        """Send until both ends have proved themselves to each other."""
        while self.counters["bytes_received"].get() == 0:
            self.sender.send_batch(self.stream, self.batch)
            self.receiver.poll()
            self.sender.poll()
        for counter in self.counters.values():
            counter.set(0)

    def _params(self, kind, endpoint, *, is_publication, **more):
        uri = ChannelUri.parse(f"aeron:udp?endpoint={endpoint}")
        channel = self.transport.resolve_channel(uri, resolve, is_publication=is_publication)
        if self.options is not None:
            role = ProtectedRole.PUBLICATION if is_publication else ProtectedRole.SUBSCRIPTION
            made = GroupSecretProtector(
                ProtectorParams(profile="bench", options=self.options, role=role, clock=Clock())
            )
            more["protect"] = made.protect
        return kind(channel, 0, None, self.counters, 0, 2 << 20, self.offload, self.offload, **more)

    def report(self, seconds: float) -> None:
        sent, received = self.counters["bytes_sent"].get(), self.counters["bytes_received"].get()
        print(
            f"{self.title}: sent {sent / seconds / 1e6:5.0f} MB/s, "
            f"received {received / seconds / 1e6:5.0f} MB/s"
        )
        self.sender.endpoint.close()
        self.receiver.endpoint.close()


class FanOut:
    """An endpoint with several destinations, to which it sends runs of 44 datagrams. No destination reads.

    `options`: as those of `Loop`.
    """

    def __init__(self, destinations: int, options: dict[str, str] | None) -> None:
        self.counters = make_counters(*COUNTERS, "destinations")
        transport = UdpTransport()
        uri = ChannelUri.parse("aeron:udp?control-mode=manual")
        channel = transport.resolve_channel(uri, resolve, is_publication=True)
        more = {"destination_count": self.counters["destinations"]}
        if options is not None:
            params = ProtectorParams(
                profile="bench", options=options, role=ProtectedRole.PUBLICATION, clock=Clock()
            )
            more["protect"] = GroupSecretProtector(params).protect
        self.sender = SendEndpointProbe(
            transport.open_send_endpoint(
                SendEndpointParams(channel, 0, None, self.counters, 0, 2 << 20, True, True, **more)
            )
        )
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(destinations)]
        for number, sock in enumerate(self.sockets):
            sock.bind(("127.0.0.1", 0))
            self.sender.endpoint.add_destination(SocketAddress.of(*sock.getsockname()), number + 1)
            self.sender.poll()
        self.stream = RecordingSendStream(7, 1001)
        self.batch = RunBatch([(data_frame(bytes(MTU - 64 - 32)) * 44, MTU - 64)])
        self.title = f"{'plain' if options is None else options['cipher']:17} {destinations:2} destinations"

    def measure(self) -> None:
        """Send for a while; print the processor time of a megabyte, for one destination."""
        started = time.thread_time()
        while (seconds := time.thread_time() - started) < DURATION_S:
            self.sender.send_batch(self.stream, self.batch)
        sent = self.counters["bytes_sent"].get() / 1e6
        print(f"{self.title}: {seconds / sent * 1e6:5.0f} us per MB and destination")
        self.sender.endpoint.close()
        for sock in self.sockets:
            sock.close()


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
    with tempfile.TemporaryDirectory() as directory:
        secret_file = Path(directory) / "key"
        write_secret(secret_file)
        for frame_length, segments in ((MTU - 64, 46), (1024, 60), (64, 64), (8192, 7)):
            shape = {"offload": True, "entries": 1, "segments": segments, "frame_length": frame_length}
            measure(Loop(**shape))
            for cipher in CIPHERS:
                measure(Loop(**shape, options={"secret_file": str(secret_file), "cipher": cipher}))
        for destinations in (1, 4, 16):
            for options in (None, {"secret_file": str(secret_file), "cipher": "aes-128-gcm"}):
                FanOut(destinations, options).measure()
