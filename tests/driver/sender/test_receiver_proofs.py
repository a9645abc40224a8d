"""Receivers that prove their address: forged status messages do not hold back a publication."""

import pytest

from aeron_core._native import wire
from aeron_core.driver.sender.live_receivers import LiveReceivers
from aeron_core.driver.sender.receiver_proofs import ReceiverProofs
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedPeer, Sink, encode_frame, frames_of, make_messages
from aeron_core.testing.pair import MS, S

CONTROL = "aeron:udp?control=10.0.0.1:20120|control-mode=dynamic"
IDS = "|session-id=77|init-term-id=0|term-id=0|term-offset=0"
SUBSCRIPTION = "aeron:udp?endpoint=10.0.0.2:20121|control=10.0.0.1:20120|control-mode=dynamic"
STREAM = {"session_id": 77, "stream_id": 1001}
SECRET = 12345


class Stream:
    """A stream to one receiver, and hosts that forge status messages of others."""

    def __init__(self, pair, flow_control):
        self.pair = pair
        self.sink = Sink(pair.add_subscription(SUBSCRIPTION, 1001))
        self.publication = pair.add_exclusive_publication(f"{CONTROL}{IDS}|fc={flow_control}", 1001)
        pair.run_until(lambda: self.publication.is_connected and self.sink.subscription.is_connected)
        self.forger = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.SENDER, 20120))
        self._next_offer_ns = 0

    def step(self):
        # A message per millisecond: rounds in between without work pass quickly, and a window ends soon enough.
        if self.pair.now_ns >= self._next_offer_ns:
            self.publication.offer(bytes(1000))
            self._next_offer_ns = self.pair.now_ns + MS
        self.sink.poll()

    def forge(self, count, **fields):
        for receiver_id in range(100, 100 + count):
            self.forger.send(encode_frame(StatusMessage(receiver_id=receiver_id, **STREAM, **fields)))

    @property
    def sent(self):
        return self.pair.sender.find_counter("snd-pos").value

    @property
    def counted(self):
        return self.pair.sender.find_counter("fc-receivers").value

    def moves_in(self, duration_ns):
        before = self.sent
        self.pair.run_for(duration_ns, each=self.step)
        return self.sent - before


def forge_receivers(stream):
    bits = 16
    term_id, term_offset = stream.sent >> bits, stream.sent & ((1 << bits) - 1)
    stream.forge(
        24, consumption_term_id=term_id, consumption_term_offset=term_offset, receiver_window=32 * 1024
    )


def forge_requests_for_a_setup(stream):
    stream.forge(24, flags=wire.SM_FLAG_SEND_SETUP)


@pytest.mark.parametrize("forge", [forge_receivers, forge_requests_for_a_setup])
@pytest.mark.parametrize(("options", "is_stopped"), [("min", True), ("min,proof:true", False)])
def test_forged_receivers_stop_a_publication_unless_they_must_prove_their_address(
    pair, forge, options, is_stopped
):
    stream = Stream(pair, options)
    pair.run_for(500 * MS, each=stream.step)
    assert stream.moves_in(10 * MS) > 0

    forge(stream)
    stream.pair.run_for(150 * MS, each=stream.step)

    assert (stream.moves_in(1 * S) == 0) is is_stopped
    assert stream.counted == (25 if is_stopped and forge is forge_receivers else 1)


def test_a_receiver_of_this_driver_proves_its_address(pair):
    stream = Stream(pair, "min,g:/1,proof:true")

    feed = Feed(stream.publication, make_messages(300, seed=1, max_length=1000))

    pair.run_until(lambda: (feed.offer(), stream.sink.poll(), len(stream.sink.all) == 300)[2])

    assert stream.sink.all == feed.messages
    assert stream.counted == 1
    requests = [frame for frame in frames_of(Rttm, pair.sent()) if frame.flags & wire.RTTM_FLAG_REPLY]
    assert len(requests) == 1


def test_a_receiver_is_proved_after_it_was_forgotten(pair):
    stream = Stream(pair, "min,g:/1,proof:true")
    pair.run_for(500 * MS, each=stream.step)
    stream.sink.subscription.close()
    pair.run_until(lambda: not stream.publication.is_connected)

    stream.sink = Sink(pair.add_subscription(SUBSCRIPTION, 1001))

    pair.run_until(lambda: stream.publication.is_connected)


def test_a_guessed_number_proves_nothing(pair):
    stream = Stream(pair, "min,proof:true")
    pair.run_for(500 * MS, each=stream.step)
    forge_receivers(stream)

    for number in (0, -1, pair.now_ns):
        stream.forger.send(encode_frame(Rttm(receiver_id=100, echo_timestamp=number, **STREAM)))
    pair.run_for(20 * MS, each=stream.step)
    forge_receivers(stream)

    assert stream.moves_in(1 * S) > 0
    assert stream.counted == 1


def test_forged_receivers_that_leave_take_no_memory(pair):
    stream = Stream(pair, "min,proof:true")
    pair.run_for(500 * MS, each=stream.step)

    for _ in range(20):
        stream.forge(24, flags=0)
        pair.run_for(30 * MS, each=stream.step)
        stream.forge(24, flags=wire.SM_FLAG_EOS)
        pair.run_for(30 * MS, each=stream.step)

    assert stream.moves_in(1 * S) > 0
    assert stream.counted == 1


@pytest.fixture
def proofs():
    return ReceiverProofs(SECRET)


def test_a_receiver_is_asked_every_100_ms_until_it_is_proved(proofs):
    asked = [proofs.take_request(1, at_ms * MS) for at_ms in range(1, 350, 10)]

    assert sum(asked) == 4
    assert not proofs.is_proved(1)
    assert proofs.on_reply(1, SECRET)
    assert proofs.is_proved(1)


def test_a_reply_counts_only_from_a_receiver_that_was_asked(proofs):
    assert not proofs.on_reply(1, SECRET)
    assert not proofs.is_proved(1)


def test_a_flood_of_receivers_is_asked_at_a_limited_rate(proofs):
    asked = [proofs.take_request(number, 1 * S + number * 1000) for number in range(1, 100_001)]

    assert sum(asked) <= 8 * 11


def test_receivers_that_are_not_live_are_forgotten(proofs):
    live = LiveReceivers(5 * S)
    for receiver_id in range(1, 9):
        proofs.take_request(receiver_id, 1 * S)
        proofs.on_reply(receiver_id, SECRET)
    live.note(3, 1 * S)

    proofs.forget_all_but(live)

    assert [receiver_id for receiver_id in range(1, 9) if proofs.is_proved(receiver_id)] == [3]
