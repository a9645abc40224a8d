"""A peer that was written from the wire page alone exchanges streams with a driver."""

import pytest
from secure_udp import ANSWER, CHALLENGE, FRAMES, Peer, open_sealed

from aeron_core._native import wire
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import DriverUnderTest, SimulatedPeer, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

SECRET = bytes(range(32))
STREAM = {"session_id": 77, "stream_id": 1001}
PUBLICATION, SUBSCRIPTION = 0, 1
PROFILES = [("orders", 1), ("strong", 2)]


class Stranger:
    """A socket of the peer: seals frames, opens what arrives, and answers challenges."""

    def __init__(self, one, role, cipher, remote, port=40000):
        self._one = one
        self._socket = SimulatedPeer(one.network, "10.0.0.9", port, remote)
        self.peer = Peer(SECRET, cipher, role)
        self.cipher = cipher
        self.received = []

    def send(self, *frames):
        self._socket.send(*(self.peer.seal(frame) for frame in frames))
        self.run()

    def run(self, duration_ns=1 * MS):
        self._one.run_for(duration_ns)
        for datagram in self._socket.receive():
            opened = open_sealed(SECRET, self.cipher, datagram)
            if opened.kind == FRAMES:
                self.received.append(opened.content)
            elif opened.kind == CHALLENGE and opened.content[:16] == self.peer.salt:
                self._socket.send(self.peer.seal(opened.content[16:], ANSWER))


@pytest.fixture
def one(tmp_path, profiles):
    with DriverUnderTest(tmp_path, security_profiles=profiles) as made:
        yield made


@pytest.mark.parametrize(("profile", "cipher"), PROFILES)
def test_a_driver_receives_from_a_peer_that_proves_itself(one, profile, cipher):
    subscription = one.add_subscription(f"aeron:udp?endpoint=127.0.0.1:20121|security={profile}", 1001)
    sender = Stranger(one, PUBLICATION, cipher, ("127.0.0.1", 20121))
    setup = encode_frame(Setup(**STREAM, term_length=65536, mtu=1344))

    for _ in range(3):
        sender.send(setup)
        sender.run(10 * MS)
    for number in range(50):
        sender.send(data_frame(b"message", term_offset=64 * number, **STREAM))
    received = []
    one.run_until(
        lambda: subscription.poll(lambda buffer, _: received.append(bytes(buffer))) and len(received) == 50
    )

    assert received == [b"message"] * 50
    (status, *_) = frames_of(StatusMessage, sender.received)
    assert (status.session_id, status.stream_id) == (77, 1001)


@pytest.mark.parametrize(("profile", "cipher"), PROFILES)
def test_a_driver_sends_to_a_peer_that_proves_itself(one, profile, cipher):
    control = f"aeron:udp?control=127.0.0.1:20300|control-mode=dynamic|security={profile}"
    publication = one.add_publication(control, 1001)
    receiver = Stranger(one, SUBSCRIPTION, cipher, ("127.0.0.1", 20300))
    elicit = encode_frame(
        StatusMessage(
            session_id=publication.session_id, stream_id=1001, flags=wire.SM_FLAG_SEND_SETUP, receiver_id=5
        )
    )
    for _ in range(5):
        receiver.send(elicit)
        receiver.run(20 * MS)
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


def test_a_peer_that_does_not_answer_is_not_admitted(one):
    subscription = one.add_subscription("aeron:udp?endpoint=127.0.0.1:20121|security=orders", 1001)
    socket = SimulatedPeer(one.network, "10.0.0.9", 40000, ("127.0.0.1", 20121))
    peer = Peer(SECRET, 1, PUBLICATION)
    setup = encode_frame(Setup(**STREAM, term_length=65536, mtu=1344))

    for _ in range(100):
        socket.send(peer.seal(setup))
        one.run_for(100 * MS)

    assert subscription.image_count == 0
    # A challenge for each 100 ms at most.
    assert len(socket.receive()) <= 101


def test_recorded_datagrams_of_an_earlier_stream_are_not_accepted(one):
    channel = "aeron:udp?endpoint=127.0.0.1:20121|security=orders"
    subscription = one.add_subscription(channel, 1001)
    sender = Stranger(one, PUBLICATION, 1, ("127.0.0.1", 20121))
    for _ in range(3):
        sender.send(encode_frame(Setup(**STREAM, term_length=65536, mtu=1344)))
        sender.run(10 * MS)
    sender.send(data_frame(b"message", **STREAM))
    one.run_until(lambda: subscription.poll(lambda *_: None))
    recorded = one.network.sent(source="10.0.0.9")
    # Another socket, as after a restart of the driver.
    subscription.close()
    one.run_for(20 * S)
    subscription = one.add_subscription(channel, 1001)
    socket = SimulatedPeer(one.network, "10.0.0.8", 40000, ("127.0.0.1", 20121))

    for _ in range(5):
        socket.send(*recorded)
        one.run_for(200 * MS)

    assert len(recorded) > 4
    assert subscription.image_count == 0
    assert {open_sealed(SECRET, 1, each).kind for each in socket.receive()} == {CHALLENGE}
