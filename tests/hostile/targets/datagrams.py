"""Drivers that get any datagrams of strangers while a stream runs: its messages arrive once, in order.

An input is datagrams: in the operation, 1 for the sending driver instead of the receiving one, 2 for a pause after it.
"""

from __future__ import annotations

from pathlib import Path

from aeron_core._native import wire
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import DriverPair, SimulatedPeer, data_frame, encode_frame
from aeron_core.testing.pair import MS
from targets._script import Script, block
from targets._simulations import Shared

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM = 1001
#: Of the stream, and of another one that strangers may disturb: data of its session cannot be told from its sender's.
SESSION, VICTIM = 77, 78
TERM = 64 * 1024
MAX_DATAGRAMS = 32
TO_SENDER, PAUSES = 1, 2


class Disturbed(DriverPair):
    """Two streams between two drivers, and a stranger for each driver."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, driver_connect=False, image_liveness_timeout_ns="100ms")
        self.subscription = self.add_subscription(CHANNEL, STREAM)
        fixed = "|init-term-id=0|term-id=0|term-offset=0"
        self.publication = self.add_exclusive_publication(f"{CHANNEL}|session-id={SESSION}{fixed}", STREAM)
        self.victim = self.add_exclusive_publication(f"{CHANNEL}|session-id={VICTIM}{fixed}", STREAM)
        self.to_receiver = SimulatedPeer(self.network, "10.0.0.9", 40000, (self.RECEIVER, 20121))
        self.to_sender = SimulatedPeer(self.network, "10.0.0.7", 40000, (self.SENDER, 49152))
        self.received: list[bytes] = []
        self.count = 0

    def poll(self) -> None:
        self.subscription.poll(self._on_fragment, 100)

    def _on_fragment(self, buffer, header) -> None:
        if header.session_id == SESSION:
            self.received.append(bytes(buffer))


SHARED = Shared(Disturbed)


def seeds() -> list[bytes]:
    other = {"session_id": 9, "stream_id": STREAM}
    setup = encode_frame(Setup(**other, term_length=TERM, mtu=1408))
    data = [data_frame(bytes(64), **other, term_offset=at) for at in (0, 96, 288)]
    padding = data_frame(**other, term_offset=96, frame_length=TERM - 96, frame_type=wire.TYPE_PAD)
    end = data_frame(**other, term_offset=96, frame_length=0, flags=0xE0)
    victim = {"session_id": VICTIM, "stream_id": STREAM}
    back = [
        StatusMessage(**victim, receiver_id=9, receiver_window=4096),
        Nak(**victim, term_offset=0, length=64),
        Rttm(**victim, receiver_id=9, flags=0x80),
        ErrorFrame(**victim, receiver_id=9),
    ]
    return [
        block(setup, 2) + b"".join(block(each, 0) for each in data),
        block(setup, 2) + block(data[0], 2) + block(padding, 2) + block(end, 2),
        block(setup, 2) + block(data[2], 2) + block(data[0] + data[1], 2),
        *(block(encode_frame(each), 3) for each in back),
        b"".join(block(encode_frame(each), 3) for each in back),
    ]


def check(data: bytes) -> bool:
    with SHARED.use() as pair:
        invalid = sum(driver.counted("invalid_packets") for driver in pair.drivers)
        sent = 0
        for operation, datagram in Script(data).blocks(MAX_DATAGRAMS):
            if is_of_stream(datagram):
                continue
            (pair.to_sender if operation & TO_SENDER else pair.to_receiver).send(datagram)
            sent += 1
            if operation & PAUSES:
                pair.run_for(1 * MS, each=pair.poll)
        pair.victim.offer(bytes(200))
        assert_delivers(pair)
        pair.to_receiver.receive()
        pair.to_sender.receive()
        return sent > 0 and sum(driver.counted("invalid_packets") for driver in pair.drivers) == invalid


def is_of_stream(datagram: bytes) -> bool:
    """Return whether a frame has the session of the stream, which strangers do not know, anywhere in a datagram."""
    return SESSION.to_bytes(4, "little") in datagram


def assert_delivers(pair: Disturbed) -> None:
    pair.count += 1
    sent = b"%d" % pair.count * 200
    pair.received.clear()
    pair.run_until(lambda: pair.poll() or pair.publication.offer(sent) > 0)
    pair.run_until(lambda: pair.poll() or pair.received)
    assert pair.received == [sent]
    # Without its sender, an image of a stranger ends.
    pair.idle_step_ns = 20 * MS
    pair.run_until(lambda: pair.poll() or pair.subscription.image_count <= 2)
    pair.idle_step_ns = 1 * MS
