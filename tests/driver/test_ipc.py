"""IPC streams."""

from itertools import pairwise

import pytest

from aeron_core.testing import Feed, Sink, make_messages
from aeron_core.testing.pair import MS, S

IPC = "aeron:ipc"
TERM_LENGTH = 64 * 1024
WINDOW = TERM_LENGTH // 2
MESSAGE = bytes(1024 - 32)


@pytest.fixture
def stream(lone):
    subscription = lone.add_subscription(IPC, 1001)
    publication = lone.add_publication(IPC, 1001)
    lone.run_until(lambda: publication.is_connected and subscription.is_connected)
    lone.run_until(lambda: publication.available_window)
    return publication, Sink(subscription)


@pytest.mark.parametrize("subscriber_comes_first", [True, False])
def test_publication_and_subscription_find_each_other_in_either_order(lone, subscriber_comes_first):
    if subscriber_comes_first:
        subscription, publication = lone.add_subscription(IPC, 1001), lone.add_publication(IPC, 1001)
    else:
        publication, subscription = lone.add_publication(IPC, 1001), lone.add_subscription(IPC, 1001)

    took_ns = lone.run_until(lambda: publication.is_connected and subscription.is_connected)

    assert took_ns < 10 * MS
    assert subscription.images[0].source_identity == "aeron:ipc"


def test_a_publication_without_subscribers_accepts_nothing(lone):
    publication = lone.add_publication(IPC, 1001)
    lone.run_for(2 * S)

    assert publication.offer(b"unread") == -1
    assert lone.driver.find_counter("pub-lmt").value == 0


def test_a_publisher_runs_half_a_term_ahead_of_its_slowest_subscriber(lone, stream):
    publication, sink = stream
    lone.run_for(1 * MS)
    idle = lone.add_subscription(IPC, 1001)
    feed = Feed(publication, [MESSAGE] * 200)

    lone.run_for(50 * MS, each=lambda: (feed.offer(), sink.poll()))

    assert feed.last_result == -2
    assert WINDOW <= publication.position <= WINDOW + 1024
    assert idle.images[0].position == 0


def test_the_limit_moves_in_steps_of_an_eighth_of_the_window(lone, stream):
    publication, sink = stream
    feed = Feed(publication, [MESSAGE] * 32)
    lone.run_until(lambda: feed.offer() == 0 and feed.is_done)
    limits = {lone.driver.find_counter("pub-lmt").value}

    def read_one():
        sink.subscription.poll(lambda *_: None, 1)
        limits.add(lone.driver.find_counter("pub-lmt").value)

    lone.run_for(50 * MS, each=read_one)

    steps = [after - before for before, after in pairwise(sorted(limits))]
    assert len(steps) >= 5
    assert min(steps) >= WINDOW // 8


def test_a_late_subscriber_joins_at_the_position_of_the_slowest(lone, stream):
    publication, sink = stream
    Feed(publication, [MESSAGE] * 10).offer()
    lone.step()
    sink.subscription.poll(lambda *_: None, 4)

    late = lone.add_subscription(IPC, 1001)
    lone.run_until(lambda: late.is_connected)

    assert late.images[0].join_position == 4 * 1024
    assert lone.driver.find_counters("sub-pos")[1].label.endswith(" @4096")


def test_a_subscriber_joins_at_the_last_position_if_all_others_have_left(lone, stream):
    publication, sink = stream
    Feed(publication, [MESSAGE] * 10).offer()
    lone.run_for(1 * MS, each=sink.poll)
    sink.subscription.close()
    lone.run_for(2 * S)
    assert not publication.is_connected

    late = lone.add_subscription(IPC, 1001)
    lone.run_until(lambda: late.is_connected and publication.is_connected)

    assert late.images[0].join_position == 10 * 1024


@pytest.mark.parametrize("kind", ["add_publication", "add_exclusive_publication"])
def test_messages_of_all_lengths_pass_through_many_terms(lone, kind):
    sink = Sink(lone.add_subscription(IPC, 1001))
    feed = Feed(getattr(lone, kind)(IPC, 1001), make_messages(2000, seed=1, max_length=8192))

    lone.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == 2000)

    assert sink.all == feed.messages
    assert feed.publication.position > 20 * TERM_LENGTH


def test_an_image_ends_after_everything_was_read(lone):
    gone = []
    sink = Sink(lone.add_subscription(IPC, 1001, on_unavailable_image=gone.append))
    publication = lone.add_publication(IPC, 1001)
    lone.run_until(lambda: publication.available_window)
    publication.offer(b"the last message")
    publication.close()
    lone.run_for(5 * S)
    assert not gone

    took_ns = lone.run_until(lambda: sink.poll() == 0 and gone)

    assert took_ns < 2 * S
    assert sink.all == [b"the last message"]
    assert gone[0].is_end_of_stream
    lone.run_for(3 * S)
    assert lone.driver.log_files() == []


def test_a_subscriber_that_joins_a_draining_stream_receives_the_rest(lone, stream):
    publication, sink = stream
    publication.offer(b"the last message")
    publication.close()
    lone.run_for(2 * S)

    late = Sink(lone.add_subscription(IPC, 1001))
    lone.run_until(lambda: sink.poll() + late.poll() == 0 and late.all)
    lone.run_until(lambda: not late.subscription.is_connected)

    assert late.all == sink.all == [b"the last message"]


def test_a_subscriber_that_joins_a_drained_stream_receives_nothing(lone, stream):
    publication, sink = stream
    publication.offer(b"the last message")
    publication.close()
    lone.run_until(lambda: sink.poll() == 0 and sink.all)

    late = lone.add_subscription(IPC, 1001)
    lone.run_for(5 * S)

    assert not late.is_connected


def test_a_shared_publication_lives_until_its_last_user_closes(lone):
    other = lone.driver.connect()
    sink = Sink(lone.add_subscription(IPC, 1001))
    first = lone.add_publication(IPC, 1001)
    second = lone.result(other.add_publication_async(IPC, 1001))
    third = lone.add_publication(IPC, 1001)
    assert first.session_id == second.session_id == third.session_id
    assert {p.original_registration_id for p in (first, second, third)} == {first.registration_id}

    first.close()
    third.close()
    lone.run_for(3 * S)
    second.offer(b"still here")
    lone.run_for(1 * MS, each=sink.poll)
    assert sink.all == [b"still here"]

    second.close()
    lone.run_until(lambda: not sink.subscription.is_connected)


def test_exclusive_publications_are_not_shared(lone):
    one, other = (lone.add_exclusive_publication(IPC, 1001) for _ in range(2))
    shared = lone.add_publication(IPC, 1001)

    assert len({one.session_id, other.session_id, shared.session_id}) == 3


def test_a_publication_added_while_its_predecessor_drains_is_a_new_one(lone, stream):
    publication, sink = stream
    publication.offer(b"old")
    publication.close()
    again = lone.add_publication(IPC, 1001)

    lone.run_until(lambda: again.available_window)
    again.offer(b"new")
    lone.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2)

    assert again.session_id != publication.session_id


def test_a_revoked_publication_ends_at_once_with_its_unread_data(lone, stream):
    publication, sink = stream
    image = sink.subscription.images[0]
    publication.offer(b"never read")
    publication.revoke()

    lone.run_until(lambda: not sink.subscription.is_connected)

    assert image.is_revoked
    assert lone.driver.counted("publications_revoked") == 1


def test_a_subscription_to_a_session_receives_only_that_session(lone):
    wanted = lone.add_exclusive_publication(f"{IPC}?session-id=5", 1001)
    lone.add_exclusive_publication(f"{IPC}?session-id=6", 1001)
    subscription = lone.add_subscription(f"{IPC}?session-id=5", 1001)

    lone.run_until(lambda: subscription.is_connected)

    assert [image.session_id for image in subscription.images] == [wanted.session_id] == [5]
