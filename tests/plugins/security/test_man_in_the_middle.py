"""A host on the path: it sees every datagram, and sends others in the name of both ends."""

import contextlib
import os
import random

import pytest
from secure_udp import Peer

from aeron_core._native.address import SocketAddress
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import DriverPair, SimulatedLink, data_frame, encode_frame
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"
MULTICAST = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1|security=orders"
DYNAMIC = "aeron:udp?control=10.0.0.1:20000|control-mode=dynamic|security=orders"
TO_DYNAMIC = f"{DYNAMIC}|endpoint=10.0.0.2:20121"
OTHER_SECRET = bytes(32)


class Path:
    """The network between both drivers: `attack` returns what is sent because of a datagram, with its ends."""

    def __init__(self, pair, attack):
        self._pair = pair
        self._attack = attack
        self._seen = 0
        self.sent = 0

    def step(self):
        log = self._pair.network.log
        seen, self._seen = log[self._seen :], len(log)
        for line in seen:
            for source, destination, data in self._attack(line):
                self._inject(source, destination, data)

    def _inject(self, source, destination, data):
        """Deliver a datagram as if `source` had sent it, both `host:port`."""
        self.sent += 1
        network = self._pair.network
        host, _, port = destination.rpartition(":")
        source_host, _, source_port = source.rpartition(":")
        members = [each for group in network._members.values() for each in group]
        for socket in [*network._sockets.values(), *members]:
            if (socket.address.host, socket.address.port) == (host, int(port)):
                network._enqueue(SocketAddress.of(source_host, int(source_port)), socket, data, 0)


def ends(line):
    return line.source, line.destination


class Flips:
    """Flips each bit of the datagrams in turn."""

    def __init__(self):
        self._bit = 0

    def __call__(self, line):
        for _ in range(3):
            self._bit = (self._bit + 1) % (8 * len(line.data))
            changed = bytearray(line.data)
            changed[self._bit // 8] ^= 1 << self._bit % 8
            yield *ends(line), bytes(changed)


class Cuts:
    """Truncates, extends and joins datagrams."""

    def __init__(self):
        self._before, self._cut = b"", 0

    def __call__(self, line):
        self._cut += 1
        yield *ends(line), line.data[: self._cut % len(line.data)]
        yield *ends(line), line.data + bytes(self._cut % 50)
        half = self._cut % (len(line.data) + 1)
        if self._before != line.data and len(self._before) > half:
            yield *ends(line), line.data[:half] + self._before[half:]
            yield *ends(line), self._before[:56] + line.data[56:]
        self._before = line.data


class Replays:
    """Replays datagrams at once, and older ones later."""

    def __init__(self):
        self._kept = []

    def __call__(self, line):
        self._kept.append(line)
        yield *ends(line), line.data
        old = random.Random(len(self._kept)).choice(self._kept)
        yield *ends(old), old.data


class Reflections:
    """Sends datagrams back to the socket that sent them, in the name of the other end."""

    def __call__(self, line):
        yield line.destination, line.source, line.data
        yield line.source, line.source, line.data


class Forgeries:
    """Sends frames that would stop the stream, plain and sealed with another secret."""

    def __init__(self):
        self._peers = [Peer(OTHER_SECRET, 1, role) for role in (0, 1)]

    def __call__(self, line):
        frames = (
            encode_frame(StatusMessage(session_id=77, stream_id=1001, receiver_window=0)),
            encode_frame(Nak(session_id=77, stream_id=1001, length=60000)),
            encode_frame(Setup(session_id=77, stream_id=1001, term_length=65536, mtu=64)),
            encode_frame(ErrorFrame(session_id=77, stream_id=1001, error_code=13)),
            encode_frame(Rttm(session_id=77, stream_id=1001, reception_delta=1 << 40)),
            data_frame(b"forged", session_id=77, stream_id=1001),
        )
        for frame in frames:
            yield *ends(line), frame
            for peer in self._peers:
                sealed = bytearray(peer.seal(frame))
                yield *ends(line), bytes(sealed)
                # With the salt and the identifier of the real one.
                sealed[:24] = line.data[:24]
                yield *ends(line), bytes(sealed)


ATTACKS = [Flips, Cuts, Replays, Reflections, Forgeries]


@pytest.fixture(params=["group", "identities"])
def start(request, tmp_path, profiles, start_pair):
    """Return a function that starts two drivers of one mode."""
    if request.param == "identities":
        yield start_pair
        return
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            DriverPair(tmp_path, security_profiles=profiles, **settings)
        )


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    ("published", "subscribed"),
    [(CHANNEL, CHANNEL), (MULTICAST, MULTICAST), (DYNAMIC, TO_DYNAMIC)],
    ids=["unicast", "multicast", "dynamic"],
)
def test_a_stream_arrives_whole_and_nothing_else_does(start, attack, published, subscribed):
    link = SimulatedLink(loss=0.05, latency_ns=20_000, reordering=0.05)
    with start(link=link, driver_connect=False) as pair:
        path = Path(pair, attack())
        subscription = pair.add_subscription(subscribed, 1001)
        publication = pair.add_publication(f"{published}|session-id=77", 1001)
        messages = [os.urandom(200) for _ in range(200)]
        received, waiting = [], list(messages)

        def step():
            path.step()
            if waiting and publication.offer(waiting[0]) > 0:
                waiting.pop(0)
            subscription.poll(lambda buffer, _: received.append(bytes(buffer)))
            return len(received) >= len(messages)

        pair.run_until(step, within_ns=60 * S)
        pair.run_for(1200 * MS, each=step)

        assert received == messages
        refused = [
            counter.value for driver in pair.drivers for counter in driver.find_counters("security-refused-")
        ]
        assert path.sent > 300
        # The socket that sends data to a group receives nothing.
        assert sum(refused) > 40
        for driver in pair.drivers:
            assert driver.counted("invalid_packets") == 0
            texts = [record.text for record in driver.errors()]
            # Each reason once.
            assert len(texts) <= 4, texts
            assert all("refused a datagram: it" in text for text in texts)


class Redirection:
    """Sends what is for one socket of the receiver to another one, too, and the replies of that back to the sender."""

    def __call__(self, line):
        if line.destination == "10.0.0.2:20121":
            yield line.source, OTHER, line.data
        elif line.source == OTHER:
            yield "10.0.0.2:20121", line.destination, line.data


OTHER = "10.0.0.2:20122"


def test_a_host_on_the_path_can_send_a_stream_to_another_member(start):
    # As the wire page states: a datagram is not bound to its destination, only to its sender, and to members.
    with start() as pair:
        path = Path(pair, Redirection())
        subscriptions = [
            pair.add_subscription(f"aeron:udp?endpoint={endpoint}|security=orders", 1001)
            for endpoint in ("10.0.0.2:20121", OTHER)
        ]
        publication = pair.add_publication(CHANNEL, 1001)

        def step():
            path.step()
            publication.offer(b"message")
            subscriptions[0].poll(lambda *_: None)
            subscriptions[1].poll(lambda buffer, _: received.append(bytes(buffer)))
            return bool(received)

        received = []
        pair.run_until(step, within_ns=30 * S)

        assert set(received) == {b"message"}
