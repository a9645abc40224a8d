"""Start, keep-alive and end of a stream on a unicast UDP channel."""

from itertools import pairwise

import pytest

from aeron_core._native import wire
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedPeer, Sink, encode_frame, frames_of
from aeron_core.testing.network import FIRST_EPHEMERAL_PORT
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
HEARTBEAT_FLAGS = wire.DATA_FLAGS_UNFRAGMENTED


def times_of(pair, kind, source):
    """Return the times at which frames of a kind were sent, in ns."""
    return [
        line.time_ns
        for line in pair.network.log
        if line.source.startswith(source) and frames_of(kind, [line.data])
    ]


def intervals(times):
    return [after - before for before, after in pairwise(times)]


def connected(pair, channel=CHANNEL, stream_id=1001):
    subscription = pair.add_subscription(channel, stream_id)
    publication = pair.add_publication(channel, stream_id)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, subscription


def test_a_publication_without_a_receiver_sends_a_setup_at_once_and_then_every_100_ms(pair):
    pair.long_idle_step_ns = 0
    publication = pair.add_publication(CHANNEL, 1001)

    pair.run_for(1 * S)

    times = times_of(pair, Setup, pair.SENDER)
    assert len(times) in (10, 11)
    # Up to a tenth earlier, until they have the phase of the stream.
    assert all(90 * MS <= interval <= 101 * MS for interval in intervals(times))
    assert not publication.is_connected


def test_setups_stop_with_the_first_status_message(pair):
    pair.add_publication(CHANNEL, 1001)
    pair.run_for(250 * MS)

    pair.add_subscription(CHANNEL, 1001)
    pair.run_for(200 * MS)
    before = len(frames_of(Setup, pair.sent()))
    pair.run_for(2 * S)

    assert len(frames_of(Setup, pair.sent())) == before


@pytest.mark.parametrize("end", ["close", "revoke"])
def test_setups_stop_with_the_end_of_a_stream_that_has_never_had_a_receiver(pair, end):
    publication = pair.add_exclusive_publication(f"{CHANNEL}|linger=20s", 1001)
    pair.run_for(250 * MS)
    before = len(frames_of(Setup, pair.sent()))

    getattr(publication, end)()
    pair.run_for(10 * S)

    assert before == 3
    assert len(frames_of(Setup, pair.sent())) == before


def test_a_setup_carries_the_position_of_the_stream(pair):
    channel = f"{CHANNEL}|init-term-id=77|term-id=79|term-offset=4096|term-length=128k|mtu=2048"
    publication = pair.add_exclusive_publication(channel, 1001)

    pair.run_for(10 * MS)

    (setup,) = frames_of(Setup, pair.sent())
    assert setup.fields() == {
        "frame_length": wire.SETUP_HEADER_LENGTH,
        "flags": 0,
        "term_offset": 4096,
        "session_id": publication.session_id,
        "stream_id": 1001,
        "initial_term_id": 77,
        "active_term_id": 79,
        "term_length": 128 * 1024,
        "mtu": 2048,
        "ttl": 0,
    }


def test_a_late_receiver_elicits_a_setup_and_joins_at_the_sender_position(start_pair):
    pair = start_pair()
    publication, subscription = connected(pair)
    early = Sink(subscription)
    Feed(publication, [b"x" * 1000] * 10).offer()
    pair.run_for(10 * MS, each=early.poll)
    late_driver = pair.receiver
    subscription.close()
    pair.run_for(20 * S)
    assert not publication.is_connected

    again = pair.result(late_driver.clients[0].add_subscription_async(CHANNEL, 1001))
    pair.run_until(lambda: again.is_connected and publication.is_connected)

    assert again.images[0].join_position == publication.position


@pytest.mark.parametrize(("has_ended", "setups"), [(False, 1), (True, 0)])
def test_a_request_for_a_setup_is_answered_unless_the_stream_has_ended(pair, has_ended, setups):
    peer = SimulatedPeer(pair.network, pair.RECEIVER, 20121, (pair.SENDER, FIRST_EPHEMERAL_PORT))
    stream = {"session_id": 77, "stream_id": 1001, "receiver_id": 5}
    channel = f"{CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0|linger=20s"
    publication = pair.add_exclusive_publication(channel, 1001)
    peer.send(encode_frame(StatusMessage(receiver_window=1024, **stream)))
    pair.run_until(lambda: publication.is_connected)
    if has_ended:
        publication.close()
    pair.run_for(500 * MS)
    before = len(frames_of(Setup, pair.sent()))

    peer.send(encode_frame(StatusMessage(flags=wire.SM_FLAG_SEND_SETUP, **stream)))
    pair.run_for(90 * MS)

    assert len(frames_of(Setup, pair.sent())) - before == setups


def test_heartbeats_start_100_ms_after_the_last_data_and_repeat_every_100_ms(pair):
    publication, subscription = connected(pair)
    sink = Sink(subscription)
    pair.run_for(350 * MS)
    publication.offer(b"data")
    pair.run_for(1050 * MS, each=sink.poll)

    times = times_of(pair, DataHeader, pair.SENDER)
    frames = frames_of(DataHeader, pair.sent())
    data = next(index for index, frame in enumerate(frames) if frame.frame_length > 0)

    assert len(frames) - data in (11, 12)
    assert all(90 * MS <= interval <= 101 * MS for interval in intervals(times[data:]))
    assert {(f.frame_length, f.flags, f.term_offset) for f in frames[data + 1 :]} == {
        (0, HEARTBEAT_FLAGS, 64)
    }


def test_no_heartbeat_is_sent_before_the_first_status_message(pair):
    pair.add_publication(CHANNEL, 1001)

    pair.run_for(2 * S)

    assert frames_of(DataHeader, pair.sent()) == []


@pytest.mark.parametrize(("suffix", "eos"), [("", wire.DATA_FLAG_EOS), ("|eos=false", 0)])
def test_heartbeats_carry_end_of_stream_once_the_publication_is_closed(pair, suffix, eos):
    publication, subscription = connected(pair, CHANNEL + suffix)
    sink = Sink(subscription)
    publication.offer(b"the last message")
    publication.close()

    pair.run_for(1 * S, each=sink.poll)

    assert frames_of(DataHeader, pair.sent())[-1].flags == HEARTBEAT_FLAGS | eos
    assert sink.all == [b"the last message"]


def test_an_image_of_a_closed_publication_ends_at_its_last_position(pair):
    gone = []
    subscription = pair.add_subscription(CHANNEL, 1001, on_unavailable_image=gone.append)
    publication = pair.add_publication(CHANNEL, 1001)
    sink = Sink(subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    Feed(publication, [b"y" * 500] * 20).offer()
    end = publication.position
    publication.close()

    took_ns = pair.run_until(lambda: sink.poll() == 0 and gone)

    assert gone[0].end_of_stream_position == gone[0].position == end
    assert gone[0].is_end_of_stream
    assert took_ns < 5 * S


def test_status_messages_come_every_200_ms_from_a_receiver_that_reads_nothing(pair):
    connected(pair)
    pair.run_for(3 * S)

    times = times_of(pair, StatusMessage, pair.RECEIVER)

    assert all(180 * MS <= interval <= 201 * MS for interval in intervals(times[1:]))
    assert len(times) >= 14


@pytest.mark.parametrize(
    ("term_length", "suffix", "window"),
    [
        ("64k", "", 32 * 1024),
        ("128k", "", 64 * 1024),
        ("256k", "", 128 * 1024),
        ("1m", "", 128 * 1024),
        ("1m", "|rcv-wnd=16k", 16 * 1024),
        ("64k", "|rcv-wnd=64k", 32 * 1024),
    ],
)
def test_a_receiver_offers_its_initial_window_but_half_a_term_at_most(pair, term_length, suffix, window):
    subscription = pair.add_subscription(CHANNEL + suffix, 1001)
    publication = pair.add_publication(f"{CHANNEL}|term-length={term_length}", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.run_for(1 * S)

    windows = {frame.receiver_window for frame in frames_of(StatusMessage, pair.answered())[1:]}

    assert windows == {window}
    assert pair.sender.find_counter("snd-lmt").value == window


def test_a_status_message_is_sent_once_a_quarter_of_the_window_was_read(pair):
    publication, subscription = connected(pair)
    sink = Sink(subscription)
    pair.run_for(300 * MS)
    before = len(frames_of(StatusMessage, pair.answered()))
    feed = Feed(publication, [b"z" * (1024 - 32)] * 33)
    start_ns = pair.now_ns

    pair.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == 33)

    # 33 KiB read, a message each time that more than 8 KiB were read since the last.
    positions = [
        frame.consumption_term_offset for frame in frames_of(StatusMessage, pair.answered())[before:]
    ]
    assert pair.now_ns - start_ns < 100 * MS
    assert 3 <= len(positions) <= 4
    assert all(interval > 8 * 1024 for interval in intervals([0, *positions]))


def test_data_of_an_unknown_session_elicits_one_setup(pair):
    publication, subscription = connected(pair)
    subscription.close()
    pair.run_for(3 * S)
    again = pair.add_subscription(CHANNEL, 1001)
    before = len(frames_of(StatusMessage, pair.answered()))

    publication.offer(b"hello")
    pair.run_until(lambda: again.is_connected, within_ns=2 * S)

    elicitations = [
        frame
        for frame in frames_of(StatusMessage, pair.answered())[before:]
        if frame.flags & wire.SM_FLAG_SEND_SETUP
    ]
    assert [frame.session_id for frame in elicitations] == [publication.session_id]


def test_a_subscription_added_right_after_the_last_was_closed_receives_the_stream(pair):
    publication, subscription = connected(pair)
    subscription.close()
    again = pair.add_subscription(CHANNEL, 1001)
    sink = Sink(again)
    pair.run_until(lambda: again.is_connected)
    feed = Feed(publication, [b"%d" % number for number in range(100)])

    pair.run_for(15 * S, each=lambda: (feed.offer(), sink.poll()))

    assert sink.all == feed.messages
    assert again.image_count == 1
