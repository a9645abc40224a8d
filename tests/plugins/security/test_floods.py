"""Floods: neither garbage nor forged datagrams take memory, and a stream that is flooded continues.

AERON_CORE_FLOOD multiplies the number of datagrams.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from secure_udp import ANSWER, CHALLENGE, FRAMES, Peer, expand, prk_of

import aeron_core
from aeron_core.testing import DriverUnderTest, SimulatedPeer
from aeron_core.testing.pair import MS

SECRET = bytes(range(32))
FACTOR = int(os.environ.get("AERON_CORE_FLOOD", "1"))
CHANNEL = "aeron:udp?endpoint=127.0.0.1:20121|security=orders"


def resident_length():
    """Return the bytes of memory of this process that are in use."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def garbage(numbers):
    return numbers.randbytes(numbers.randrange(1, 200))


def forged(numbers):
    """Return a datagram with a new salt that only the tag shows to be forged."""
    kind = numbers.choice((FRAMES, CHALLENGE, ANSWER))
    identifier = expand(prk_of(SECRET), b"id", 1)
    return b"AeSU\1" + bytes([kind, 0]) + identifier + numbers.randbytes(16 + 16 + 36 + 16)


def recorded(numbers):
    """Return a datagram of a socket that had the secret and is gone."""
    return Peer(SECRET, 1, 0, numbers.randbytes(16)).seal(bytes(36))


@pytest.mark.parametrize(("make", "count"), [(garbage, 20_000), (forged, 5_000), (recorded, 1_000)])
def test_a_flood_takes_no_memory(tmp_path, profiles, make, count):
    with DriverUnderTest(tmp_path, security_profiles=profiles) as one:
        subscription = one.add_subscription(CHANNEL, 1001)
        attacker = SimulatedPeer(one.network, "10.0.0.9", 40000, ("127.0.0.1", 20121))
        numbers = random.Random(1)

        def flood(count):
            for start in range(0, count, 100):
                attacker.send(*(make(numbers) for _ in range(min(100, count - start))))
                one.network.log.clear()
                one.run_for(1 * MS)
                attacker.receive()

        flood(2000)
        before = resident_length()
        flood(count * FACTOR)

        assert resident_length() - before < 2_000_000
        assert subscription.image_count == 0
        one.run_for(1100 * MS)
        refused = sum(each.value for each in one.driver.find_counters("security-refused-"))
        # The others did not fit into the buffer of the socket.
        assert refused >= count * FACTOR // 2
        assert len(one.driver.errors()) <= 2


#: Sends as many bytes a second as its last argument says, until its input ends; prints how many it sent in a second.
ATTACKER = """
import select, socket, sys, time
host, port, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
waste = [bytes.fromhex(line) for line in iter(sys.stdin.readline, "\\n")]
attacker, sent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
attacker.connect((host, port))
print("ready", flush=True)
began_s = time.monotonic()
while not select.select([sys.stdin], [], [], 0 if sent < rate * (time.monotonic() - began_s) else 0.0005)[0]:
    if sent < rate * (time.monotonic() - began_s):
        for each in waste:
            try:
                sent += attacker.send(each)
            except OSError:
                pass
print(sent / (time.monotonic() - began_s))
"""


#: Bytes a second of a stream that leaves processors idle, so that a flood of equal size does not compete for them.
MODERATE = 30e6


class Rate:
    """Publishes and polls for a time; `run` returns the bytes that arrived in a second."""

    def __init__(self, aeron):
        self._subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0|security=orders", 1001)
        self.endpoint = self._subscription.resolved_endpoint()
        self._publication = aeron.add_publication(f"aeron:udp?endpoint={self.endpoint}|security=orders", 1001)
        self._publication.await_connected(timeout=30)
        self._arrived = 0

    def _take(self, buffer, _):
        self._arrived += len(buffer)

    def run(self, duration_s, rate=float("inf")):
        """Offer at most `rate` bytes a second."""
        message, began_s, sent, self._arrived = bytes(1024), time.monotonic(), 0, 0
        while (passed_s := time.monotonic() - began_s) < duration_s:
            if sent < rate * passed_s and self._publication.offer(message) > 0:
                sent += len(message)
            self._subscription.poll(self._take, 10)
        return self._arrived / duration_s


@pytest.mark.system
@pytest.mark.skipif(
    "AERON_CORE_FLOOD" not in os.environ, reason="takes all processors: for `AERON_CORE_FLOOD=1`"
)
@pytest.mark.parametrize("offload", ["auto", "off"])
@pytest.mark.parametrize("mode", ["group", "identities"])
@pytest.mark.parametrize("wanted", [MODERATE, float("inf")], ids=["moderate", "as fast as it can"])
def test_a_stream_keeps_its_rate_under_a_flood_of_equal_size(profiles, identities, mode, wanted, offload):
    if mode == "identities":
        profiles = identities.profiles("one", "one")
    settings = {
        "security_profiles": profiles,
        "socket_so_rcvbuf_length": "2m",
        "rcv_initial_window_length": "1m",
        "udp_gso": offload,
        "udp_gro": offload,
    }
    with (
        aeron_core.MediaDriver.launch_embedded(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as aeron,
    ):
        rate = Rate(aeron)
        rate.run(1)
        # What waits in the log arrives now.
        rate.run(1, 0)
        alone = rate.run(5, wanted)
        host, _, port = rate.endpoint.rpartition(":")
        waste = [(forged(random.Random(number)) + bytes(1000)).hex() for number in range(64)]
        attacker = subprocess.Popen(
            [sys.executable, "-c", ATTACKER, host, port, str(alone)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            attacker.stdin.write("\n".join(waste) + "\n\n")
            attacker.stdin.flush()
            assert attacker.stdout.readline() == "ready\n"
            flooded = rate.run(5, wanted)
        finally:
            sent, _ = attacker.communicate()
        print(
            f"alone {alone / 1e6:.1f} MB/s, flooded {flooded / 1e6:.1f} MB/s, flood {float(sent) / 1e6:.1f} MB/s"
        )
        if wanted > MODERATE and (os.cpu_count() or 1) < 6:
            pytest.skip(
                "sender, receiver, application and attacker share the processors: the figures are informative"
            )
        assert flooded >= 0.8 * alone
