"""Spies: subscriptions that read the network publications of their own driver."""

import pytest

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.testing import Feed, Sink, make_messages
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
SPY = "aeron-spy:" + CHANNEL
WINDOW = 32 * 1024
MESSAGE = bytes(1024 - 32)


def spy_on(pair, channel=SPY, stream_id=1001, **handlers):
    return pair.result(pair.publisher.add_subscription_async(channel, stream_id, **handlers))


@pytest.mark.parametrize("spy_comes_first", [True, False])
def test_a_spy_is_linked_whether_it_or_its_publication_is_added_first(pair, spy_comes_first):
    if spy_comes_first:
        spy, publication = spy_on(pair), pair.add_publication(CHANNEL, 1001)
    else:
        publication, spy = pair.add_publication(CHANNEL, 1001), spy_on(pair)

    took_ns = pair.run_until(lambda: spy.is_connected)

    assert took_ns < 10 * MS
    assert spy.images[0].source_identity == "aeron:ipc"
    assert spy.images[0].session_id == publication.session_id


def test_a_spy_reads_what_receivers_read(pair):
    spy, sink = Sink(spy_on(pair)), Sink(pair.add_subscription(CHANNEL, 1001))
    feed = Feed(pair.add_publication(CHANNEL, 1001), make_messages(500, seed=1, max_length=4096))

    pair.run_until(
        lambda: feed.offer() + spy.poll() + sink.poll() == 0 and len(sink.all) == len(spy.all) == 500
    )

    assert spy.all == sink.all == feed.messages


def test_a_publisher_runs_half_a_term_ahead_of_its_slowest_spy(pair):
    spy, sink = spy_on(pair), Sink(pair.add_subscription(CHANNEL, 1001))
    feed = Feed(pair.add_publication(CHANNEL, 1001), [MESSAGE] * 200)

    pair.run_for(500 * MS, each=lambda: (feed.offer(), sink.poll()))

    assert feed.last_result == -2
    assert WINDOW <= feed.publication.position <= WINDOW + 1024
    assert spy.images[0].position == 0


def test_a_late_spy_joins_at_the_sender_position(pair):
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    feed = Feed(pair.add_publication(CHANNEL, 1001), [MESSAGE] * 10)
    pair.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == 10)

    late = spy_on(pair)
    pair.run_until(lambda: late.is_connected)

    assert late.images[0].join_position == 10 * 1024


def test_spies_alone_do_not_connect_a_publication(pair):
    spy, publication = spy_on(pair), pair.add_publication(CHANNEL, 1001)
    pair.run_for(1 * S)

    assert spy.is_connected
    assert publication.offer(b"discarded") == -1


@pytest.mark.parametrize(
    ("channel", "settings"), [(CHANNEL + "|ssc=true", {}), (CHANNEL, {"spies_simulate_connection": True})]
)
def test_spies_connect_a_publication_with_ssc(start_pair, channel, settings):
    pair = start_pair(**settings)
    sink = Sink(spy_on(pair))
    feed = Feed(pair.add_publication(channel, 1001), make_messages(500, seed=1, max_length=4096))

    pair.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == 500)

    assert sink.all == feed.messages
    assert feed.publication.position > 3 * 64 * 1024
    pair.run_for(1 * MS)
    assert pair.sender.find_counter("snd-pos").value == feed.publication.position


def test_a_publication_whose_last_spy_leaves_is_disconnected(pair):
    spy = spy_on(pair)
    publication = pair.add_publication(CHANNEL + "|ssc=true", 1001)
    pair.run_until(lambda: publication.is_connected)

    spy.close()

    assert pair.run_until(lambda: not publication.is_connected) < 1 * S
    assert pair.sender.find_counters("sub-pos") == []


def test_a_receiver_added_after_spies_joins_at_their_position(pair):
    spy = Sink(spy_on(pair))
    feed = Feed(pair.add_publication(CHANNEL + "|ssc=true", 1001), [MESSAGE] * 100)
    pair.run_until(lambda: feed.offer() + spy.poll() == 0 and len(spy.all) == 100)

    late = pair.add_subscription(CHANNEL, 1001)
    pair.run_until(lambda: late.is_connected)

    assert late.images[0].join_position == 100 * 1024


def test_a_spy_reads_to_the_end_of_a_publication_that_was_closed(pair):
    gone = []
    sink = Sink(spy_on(pair, on_unavailable_image=gone.append))
    publication = pair.add_publication(CHANNEL + "|ssc=true", 1001)
    pair.run_until(lambda: publication.available_window)
    publication.offer(b"last bytes")
    publication.close()
    pair.run_for(2 * S)
    assert not gone

    pair.run_until(lambda: sink.poll() == 0 and gone)

    assert sink.all == [b"last bytes"]
    assert gone[0].is_end_of_stream


def test_a_spy_added_while_others_read_the_end_reads_it_too(pair):
    first = Sink(spy_on(pair))
    publication = pair.add_publication(CHANNEL + "|ssc=true", 1001)
    pair.run_until(lambda: publication.available_window)
    publication.offer(b"last bytes")
    publication.close()
    pair.run_for(2 * S)

    late = Sink(spy_on(pair))
    pair.run_until(lambda: late.poll() and late.all)
    pair.run_until(lambda: first.poll() == 0 and not late.subscription.is_connected)

    assert first.all == late.all == [b"last bytes"]


def test_a_spy_on_one_session_reads_only_that_session(pair):
    for session_id in (5, 6):
        pair.result(
            pair.publisher.add_exclusive_publication_async(f"{CHANNEL}|session-id={session_id}", 1001)
        )

    spy = spy_on(pair, f"{SPY}|session-id=6")
    pair.run_until(lambda: spy.is_connected)

    assert [image.session_id for image in spy.images] == [6]


@pytest.mark.parametrize(
    ("channel", "stream_id"), [(SPY, 1002), ("aeron-spy:aeron:udp?endpoint=10.0.0.2:20122", 1001)]
)
def test_a_spy_on_another_stream_or_channel_reads_nothing(pair, channel, stream_id):
    pair.add_publication(CHANNEL, 1001)

    spy = spy_on(pair, channel, stream_id)
    pair.run_for(1 * S)

    assert not spy.is_connected


def test_a_spy_on_shared_memory_is_refused(pair):
    with pytest.raises(RegistrationError, match="UDP channels must use UDP URIs") as caught:
        spy_on(pair, "aeron-spy:aeron:ipc")

    assert caught.value.code is ErrorCode.INVALID_CHANNEL
