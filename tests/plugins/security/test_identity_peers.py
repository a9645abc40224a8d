"""A peer that was written from the wire page alone agrees on keys with a driver, and exchanges streams with it."""

import pytest
from identities import COOKIE, FIRST, HELLO, SECOND, IdentityPeer, public
from secure_udp import FRAMES

from aeron_core._native import wire
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import DriverUnderTest, SimulatedPeer, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS

OURS, THEIRS = bytes([1]) * 32, bytes([2]) * 32
STREAM = {"session_id": 77, "stream_id": 1001}
SETUP = encode_frame(Setup(**STREAM, term_length=65536, mtu=1344))
PUBLICATION, SUBSCRIPTION = 0, 1
CHANNEL = "aeron:udp?endpoint=127.0.0.1:20121|security=orders"
DYNAMIC = "aeron:udp?control=127.0.0.1:20300|control-mode=dynamic|security=orders"


class Stranger:
    """A socket of the peer: seals frames, opens what arrives, and takes part in handshakes.

    `begins`: it starts a handshake when a salt is unknown.
    """

    def __init__(self, one, role, remote, *, begins=True):
        self._one = one
        self._socket = SimulatedPeer(one.network, "10.0.0.9", 40000, remote)
        self.peer = IdentityPeer(THEIRS, role, 1, [public(OURS)])
        self.begins = begins
        self.received = []
        self.kinds = []

    def send(self, *frames):
        self._socket.send(*(self.peer.seal(frame) for frame in frames))
        self.run()

    def run(self, duration_ns=1 * MS):
        for _ in range(5):
            self._one.run_for(duration_ns / 5)
            for datagram in self._socket.receive():
                self._take(datagram)

    def _take(self, datagram):
        self.kinds.append(datagram[5])
        if datagram[5] == FRAMES:
            content = self.peer.open(datagram)
            if content is not None:
                self.received.append(content)
            elif self.begins:
                self._socket.send(self.peer.hello(datagram[8:24]))
        else:
            answer = self.peer.on_datagram(datagram)
            if answer is not None:
                self._socket.send(answer)


@pytest.fixture
def one(tmp_path, identities):
    with DriverUnderTest(tmp_path, security_profiles=identities.profiles("one", "two")) as made:
        yield made


def receive_stream(one, sender):
    """Receive 50 messages of the peer, with a rotation among them; return its status messages."""
    subscription = one.add_subscription(CHANNEL, 1001)
    for _ in range(5):
        sender.send(SETUP)
        sender.run(30 * MS)
    for number in range(50):
        sender.send(data_frame(b"message", term_offset=64 * number, **STREAM))
        if number == 25:
            sender.peer.rotate()
    received = []
    one.run_until(
        lambda: subscription.poll(lambda buffer, _: received.append(bytes(buffer))) and len(received) == 50
    )
    assert received == [b"message"] * 50
    for _ in range(5):
        sender.run(210 * MS)
    return frames_of(StatusMessage, sender.received)


def test_a_driver_receives_from_a_peer_with_an_identity(one):
    sender = Stranger(one, PUBLICATION, ("127.0.0.1", 20121), begins=False)

    status = receive_stream(one, sender)

    assert (status[0].session_id, status[0].stream_id) == (77, 1001)


def hello_of(one, sender):
    """Return the hello that a first SETUP frame of the peer causes."""
    sender._socket.send(sender.peer.seal(SETUP))
    one.run_for(1 * MS)
    (hello,) = sender._socket.receive()
    assert hello[5] == HELLO
    return hello


def test_a_driver_answers_the_handshake_of_a_peer(one):
    subscription = one.add_subscription(CHANNEL, 1001)
    sender = Stranger(one, PUBLICATION, ("127.0.0.1", 20121))
    hello = hello_of(one, sender)

    # The hello of the driver is not answered: it admits what the peer grants in a handshake of its own.
    sender._socket.send(sender.peer.hello(hello[8:24]))
    sender.run()

    assert sender.kinds == [COOKIE, SECOND]
    assert len(sender.peer.granted) == 1
    sender.send(SETUP)
    sender.send(data_frame(b"message", **STREAM))
    one.run_until(lambda: subscription.poll(lambda *_: None))


@pytest.mark.parametrize("begins", [True, False])
def test_a_driver_sends_to_a_peer_with_an_identity(one, begins):
    publication = one.add_publication(DYNAMIC, 1001)
    receiver = Stranger(one, SUBSCRIPTION, ("127.0.0.1", 20300), begins=begins)
    elicit = encode_frame(
        StatusMessage(
            session_id=publication.session_id, stream_id=1001, flags=wire.SM_FLAG_SEND_SETUP, receiver_id=5
        )
    )
    for _ in range(5):
        receiver.send(elicit)
        receiver.run(30 * MS)
    (setup, *_) = frames_of(Setup, receiver.received)

    receiver.send(
        encode_frame(
            StatusMessage(
                session_id=setup.session_id,
                stream_id=1001,
                consumption_term_id=setup.active_term_id,
                receiver_window=32768,
                receiver_id=5,
            )
        )
    )
    one.run_until(lambda: publication.is_connected)
    assert publication.offer(b"message") > 0
    receiver.run(10 * MS)

    assert any(b"message" in content for content in receiver.received)
    assert frames_of(DataHeader, receiver.received)


def test_a_first_that_is_repeated_gets_the_same_second(one):
    one.add_subscription(CHANNEL, 1001)
    sender = Stranger(one, PUBLICATION, ("127.0.0.1", 20121))
    sender._socket.send(sender.peer.hello(hello_of(one, sender)[8:24]))
    one.run_for(1 * MS)
    (cookie,) = sender._socket.receive()
    first = sender.peer.on_datagram(cookie)
    assert first[5] == FIRST

    sender._socket.send(first, first, first)
    one.run_for(1 * MS)

    seconds = sender._socket.receive()
    assert len(seconds) == 3
    assert len(set(seconds)) == 1
