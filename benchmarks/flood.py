"""A sealed stream under a flood of as many bytes: `python benchmarks/flood.py [--rounds 5] [--offload off]`.

The flood goes to the port of the stream, with unknown salts and with that of the stream's sender, and, for comparison,
to a port that no socket has, to one whose socket is never read, and to that of another stream, whose socket has no
filter. The kernel drops what is not read, so what a stream loses then is what the generator and the kernel take from
the processors. Rounds alternate, because other programs may run on the machine; shares are medians of rounds. Fails if
a flood with unknown salts leaves the stream less than 0.8 of what it keeps with the port that is not read.
"""

import argparse
import contextlib
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aeron_security.key_files import write_secret

import aeron_core

SO_LOCK_FILTER = 44
LENGTH = 1024
LEAST = 0.8
#: Sends datagrams, which are hexadecimal lines of its input, to a host and port at a rate in bytes a second, until the
#: input ends.
GENERATOR = """
import select, socket, sys, time
to, rate = (sys.argv[1], int(sys.argv[2])), float(sys.argv[3])
waste = [bytes.fromhex(line) for line in iter(sys.stdin.readline, "\\n")]
generator, sent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
print("ready", flush=True)
began_s = time.monotonic()
while not select.select([sys.stdin], [], [], 0 if sent < rate * (time.monotonic() - began_s) else 0.0005)[0]:
    if sent < rate * (time.monotonic() - began_s):
        for each in waste:
            sent += generator.sendto(each, to)
print(sent / (time.monotonic() - began_s))
"""


class Stream:
    """A sealed stream of messages over loopback, which this process sends and receives."""

    def __init__(self, aeron: aeron_core.Aeron, stream_id: int) -> None:
        # The sender begins before there is a receiver: a socket of this program learns its salt.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first:
            first.bind(("127.0.0.1", 0))
            self.port = first.getsockname()[1]
            channel = f"aeron:udp?endpoint=127.0.0.1:{self.port}|security=orders"
            self._publication = aeron.add_publication(channel, stream_id)
            self.header = first.recv(2048)[:40]
        self._subscription = aeron.add_subscription(channel, stream_id)
        self._publication.await_connected(timeout=30)
        self._arrived = 0

    def lock_filter(self) -> None:
        """Refuse filters at the socket of the receiver, which is one of this process."""
        for name in os.listdir("/proc/self/fd"):
            with (
                contextlib.suppress(OSError, IndexError),
                socket.fromfd(int(name), socket.AF_INET, socket.SOCK_DGRAM) as found,
            ):
                if found.getsockname()[1] == self.port:
                    found.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, 1)

    def _take(self, buffer: memoryview, _: aeron_core.Header) -> None:
        self._arrived += len(buffer)

    def run(self, duration_s: float, rate: float = float("inf")) -> float:
        """Return the bytes that arrive in a second, of at most `rate` that are offered."""
        message, began_s, sent, self._arrived = bytes(LENGTH), time.monotonic(), 0, 0
        while (passed_s := time.monotonic() - began_s) < duration_s:
            if sent < rate * passed_s and self._publication.offer(message) > 0:
                sent += len(message)
            self._subscription.poll(self._take, 10)
        return self._arrived / duration_s


def forged(header: bytes, kind: str) -> bytes:
    """Return a forged datagram with the length of those of the stream."""
    numbers = random.Random()
    salt = header[8:24] if kind == "salt of the sender" else numbers.randbytes(16)
    number = (1 << 30) + numbers.getrandbits(20)
    return header[:8] + salt + number.to_bytes(8, "little") + numbers.randbytes(8 + LENGTH + 32 + 16)


class Floods:
    """Floods of each kind, by their destinations."""

    def __init__(self, stream: Stream, unfiltered: Stream) -> None:
        self._stream, self._unfiltered = stream, unfiltered
        self._unread, unbound = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for each in (self._unread, unbound):
            each.bind(("127.0.0.1", 0))
        self.ports = {
            "no socket": unbound.getsockname()[1],
            "not read": self._unread.getsockname()[1],
            "unknown salts": stream.port,
            "unknown salts, no filter": unfiltered.port,
            "salt of the sender": stream.port,
        }
        unbound.close()

    def run(self, kind: str, rate: float, duration_s: float) -> tuple[float, float]:
        """Return the bytes of the stream and those of the flood in a second."""
        command = [sys.executable, "-c", GENERATOR, "127.0.0.1", str(self.ports[kind]), str(rate)]
        stream = self._unfiltered if "no filter" in kind else self._stream
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as generator:
            waste = (forged(stream.header, kind).hex() for _ in range(64))
            generator.stdin.write("\n".join(waste) + "\n\n")
            generator.stdin.flush()
            assert generator.stdout.readline() == "ready\n"
            flooded = stream.run(duration_s, rate)
            sent, _ = generator.communicate()
        return flooded, float(sent)


def measure(aeron: aeron_core.Aeron, rounds: int, duration_s: float) -> dict[str, float]:
    """Print rounds; return the shares that the stream keeps, by kind of flood, and a ratio of two."""
    stream, unfiltered = Stream(aeron, 1001), Stream(aeron, 1002)
    unfiltered.lock_filter()
    floods = Floods(stream, unfiltered)
    for each in (stream, unfiltered):
        each.run(1)
    shares: dict[str, list[float]] = {kind: [] for kind in floods.ports}
    for _ in range(rounds):
        alone = stream.run(duration_s)
        row = [f"alone {alone / 1e6:6.1f} MB/s"]
        for kind, found in shares.items():
            # What waits in the log, or is repeated, arrives before.
            for each in (stream, unfiltered):
                each.run(0.2, 0)
            flooded, sent = floods.run(kind, alone, duration_s)
            found.append(flooded / alone)
            row.append(f"{kind} {flooded / 1e6:.1f} ({sent / 1e6:.0f})")
        print(", ".join(row), flush=True)
    medians = {kind: statistics.median(found) for kind, found in shares.items()}
    pairs = zip(shares["unknown salts"], shares["not read"], strict=True)
    return medians | {"unknown salts / not read": statistics.median(one / other for one, other in pairs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--offload", choices=["auto", "off"], default="auto", help="GSO and GRO")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_secret(Path(folder) / "orders.key")
        settings = {
            "security_profiles": {"orders": {"secret_file": f"{folder}/orders.key"}},
            "socket_so_rcvbuf_length": "2m",
            "rcv_initial_window_length": "1m",
            "udp_gso": options.offload,
            "udp_gro": options.offload,
        }
        with (
            aeron_core.MediaDriver.launch_embedded(settings) as driver,
            aeron_core.connect(driver.aeron_dir) as aeron,
        ):
            shares = measure(aeron, options.rounds, options.seconds)
    print(f"processors {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")
    for kind, share in shares.items():
        print(f"{kind:25} {share:.2f}")
    # The salt of the sender can be seen by a host on the path only.
    assert shares["unknown salts / not read"] >= LEAST


if __name__ == "__main__":
    main()
