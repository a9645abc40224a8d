"""Several gaps at once: of one receiver, of several receivers, and more than the sender's pool has slots."""

import pytest

from aeron_core._native import wire
from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, SimulatedPeer, Sink, encode_frame, frames_of
from aeron_core.testing.pair import MS, US

ENDPOINT = "aeron:udp?endpoint=10.0.0.2:20121"
CONTROL = ("127.0.0.1", 20120)
GROUP = f"aeron:udp?control={CONTROL[0]}:{CONTROL[1]}|control-mode=dynamic"
IDS = "|session-id=77|init-term-id=0|term-id=0|term-offset=0|mtu=1024"
FRAME = 1024
MESSAGE = bytes(FRAME - 32)
LINGER_NS = 10 * MS


class Receiver:
    """A receiver of a group; the test sends its frames."""

    def __init__(self, driver, number):
        self._peer = SimulatedPeer(driver.network, f"10.0.0.{number}", 20121, CONTROL)
        self._number = number
        self._peer.send(self._sm(flags=wire.SM_FLAG_SEND_SETUP))

    def joins(self):
        self._peer.send(self._sm(session_id=77, stream_id=1001, receiver_window=32 * 1024))

    def send_naks(self, *gaps):
        for offset, length in gaps:
            nak = Nak(session_id=77, stream_id=1001, term_offset=offset * FRAME, length=length * FRAME)
            self._peer.send(encode_frame(nak))

    def _sm(self, **fields):
        return encode_frame(StatusMessage(receiver_id=self._number, **fields))


class Sender:
    """A publication that has sent sixteen frames to a group of three."""

    def __init__(self, driver, options=""):
        self.driver = driver
        self.publication = driver.add_exclusive_publication(f"{GROUP}{IDS}{options}", 1001)
        self.receivers = [Receiver(driver, number) for number in (2, 3, 4)]
        driver.run_until(lambda: len(frames_of(Setup, driver.network.sent())) >= 3)
        for receiver in self.receivers:
            receiver.joins()
        driver.run_until(lambda: self.publication.is_connected)
        Feed(self.publication, [MESSAGE] * 16).offer()
        driver.run_for(1 * MS)

    def resent(self, *actions):
        """Return the numbers of the frames that the first receiver is sent again."""
        before = len(self.driver.network.log)
        for action in actions:
            action()
        self.driver.run_for(1 * MS)
        log = [line for line in self.driver.network.log[before:] if line.destination.startswith("10.0.0.2:")]
        frames = frames_of(DataHeader, [line.data for line in log])
        return [frame.term_offset // FRAME for frame in frames if frame.frame_length]

    @property
    def overflows(self):
        return self.driver.driver.counted("retransmit_overflow")


@pytest.fixture
def start_sender(lone):
    return lambda options="": Sender(lone, options)


def test_gaps_of_several_receivers_are_open_at_once_and_each_is_retransmitted_once(start_sender):
    sender = start_sender()
    one, two, three = sender.receivers

    sent = sender.resent(
        lambda: one.send_naks((1, 1), (5, 2)),
        lambda: two.send_naks((3, 1), (5, 2)),
        lambda: three.send_naks((1, 1), (9, 1), (3, 1)),
    )

    assert sorted(sent) == [1, 3, 5, 6, 9]
    assert sender.overflows == 0


def test_a_gap_beyond_the_pool_is_counted_and_retransmitted_once_a_slot_is_free(start_sender):
    sender = start_sender("|max-resend=2")
    receiver = sender.receivers[0]

    sent = sender.resent(lambda: receiver.send_naks((1, 1), (3, 1), (5, 1)))
    within = sender.resent(lambda: receiver.send_naks((5, 1)))
    counted = sender.overflows
    sender.driver.run_for(LINGER_NS)
    after = sender.resent(lambda: receiver.send_naks((5, 1)))

    assert (sent, within, after) == ([1, 3], [], [5])
    assert counted == sender.overflows == 2


def test_a_setting_gives_the_default_number_of_slots(start_driver):
    sender = Sender(start_driver(max_resend=4))

    sent = sender.resent(lambda: sender.receivers[0].send_naks(*((number, 1) for number in range(0, 12, 2))))

    assert sent == [0, 2, 4, 6]
    assert sender.overflows == 2


def start_stream(pair, options=""):
    sink = Sink(pair.add_subscription(ENDPOINT + options, 1001))
    publication = pair.add_exclusive_publication(f"{ENDPOINT}{IDS}", 1001)
    pair.run_until(lambda: publication.is_connected and sink.subscription.is_connected)
    return publication, sink


def send(pair, publication, count, lost):
    """Send numbered messages, each in a datagram of its own; those in `lost` do not arrive."""
    for number in range(count):
        pair.network.set_link(SimulatedLink(loss=float(number in lost)), destination=pair.RECEIVER)
        feed = Feed(publication, [number.to_bytes(4, "little") + MESSAGE[4:]])
        while not feed.is_done:
            feed.offer()
        pair.run_for(20 * US)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)


def numbers_in(sink):
    return [int.from_bytes(message[:4], "little") for message in sink.all]


@pytest.mark.parametrize("length", [1, 2])
def test_each_of_many_gaps_is_requested_once_in_order_and_closed(start_pair, length):
    pair = start_pair(nak_unicast_delay_ns=100 * US)
    publication, sink = start_stream(pair)
    gaps = list(range(1, 28, 4))
    lost = {number + more for number in gaps for more in range(length)}

    send(pair, publication, 30, lost)
    took_ns = pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 30)

    assert numbers_in(sink) == list(range(30))
    naks = [(nak.term_offset // FRAME, nak.length // FRAME) for nak in frames_of(Nak, pair.answered())]
    assert naks == [(number, length) for number in gaps]
    assert pair.sender.counted("retransmits_sent") == len(gaps)
    assert pair.sender.counted("retransmitted_bytes") == len(lost) * FRAME
    assert pair.sender.counted("retransmit_overflow") == 0
    # One after the other: a gap is detected when the one before it is closed.
    assert took_ns < len(gaps) * 300 * US


def test_each_of_many_gaps_is_in_the_loss_report(pair):
    publication, sink = start_stream(pair)

    send(pair, publication, 20, {2, 6, 10, 11})
    pair.run_for(10 * MS, each=sink.poll)
    first = loss_of(pair)
    send(pair, publication, 20, {3, 9})
    pair.run_for(10 * MS, each=sink.poll)

    assert first == (3, 4 * FRAME)
    assert loss_of(pair) == (5, 6 * FRAME)


def loss_of(pair):
    """Return number and bytes of the gaps in the report."""
    report = open_mapped_file(pair.receiver.aeron_dir / "loss-report.dat", read_only=True)
    (entry,) = read_loss_report(report)
    return entry.observation_count, entry.total_bytes_lost


def test_an_unreliable_stream_has_each_gap_filled(pair):
    publication, sink = start_stream(pair, "|reliable=false")
    lost = set(range(1, 28, 4))

    send(pair, publication, 30, lost)
    pair.run_for(5 * MS, each=sink.poll)

    assert numbers_in(sink) == [number for number in range(30) if number not in lost]
    assert pair.receiver.counted("loss_gap_fills") == len(lost)
    assert frames_of(Nak, pair.answered()) == []


def test_a_gap_across_two_terms_is_filled_in_both(pair):
    publication, sink = start_stream(pair, "|reliable=false")
    per_term = 64 * 1024 // FRAME
    for begin in range(0, per_term - 4, 20):
        send(pair, publication, min(20, per_term - 4 - begin), set())
        pair.run_for(5 * MS, each=sink.poll)
    before = len(sink.all)

    send(pair, publication, 10, set(range(2, 7)))
    pair.run_for(5 * MS, each=sink.poll)

    assert numbers_in(sink)[before:] == [0, 1, 7, 8, 9]
    assert pair.receiver.counted("loss_gap_fills") == 2
    assert frames_of(Nak, pair.answered()) == []
