"""Choice of session ids for new publications."""

import pytest

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver.conductor.publications.publication_registrar import SessionIds
from aeron_core.protocol import commands
from aeron_core.testing.pair import MS, S

HIGHEST, LOWEST = 2**31 - 1, -(2**31)


def test_ids_ascend_from_the_start():
    ids = SessionIds(5000, -1, 1000)

    assert [ids.take(()) for _ in range(3)] == [5000, 5001, 5002]


@pytest.mark.parametrize(
    ("start", "reserved", "used", "taken"),
    [
        (2000, (-1, 1000), {2000, 2001}, 2002),
        (-2, (-1, 1000), {-2}, 1001),
        (999, (-1, 1000), {1001}, 1002),
        (HIGHEST, (-1, 1000), {HIGHEST}, LOWEST),
        (HIGHEST, (5, HIGHEST), (), LOWEST),
        (2**32 - 1, (5, 5), (), -1),
        (2**31, (5, 5), (), LOWEST),
        (0, (0, 0), {1}, 2),
        (7, (8, 6), (), 7),
    ],
)
def test_reserved_and_used_ids_are_skipped(start, reserved, used, taken):
    assert SessionIds(start, *reserved).take(used) == taken


def test_peek_does_not_use_up_the_next_id():
    ids = SessionIds(2000, -1, 1000)

    assert [ids.peek(()), ids.peek({2000}), ids.take(()), ids.peek(())] == [2000, 2001, 2000, 2001]


def test_a_freed_id_is_not_reused():
    ids = SessionIds(2000, -1, 1000)
    ids.take({2000})

    assert ids.take(()) == 2002


def test_ipc_and_network_publications_take_their_ids_from_one_sequence(lone):
    channels = ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:20121", "aeron:ipc"]

    first, *others = [lone.add_exclusive_publication(channel, 1001).session_id for channel in channels]

    assert others == [(first + step + 2**31) % 2**32 - 2**31 for step in (1, 2)]


@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:20121"])
def test_a_requested_session_id_comes_from_the_sequence_of_the_publications(lone, channel):
    command = commands.GetNextAvailableSessionId(1_000_000, 7, 1001)
    first = lone.add_exclusive_publication(channel, 1001).session_id

    assert ManyToOneRingBuffer(lone.driver.cnc.to_driver).write(command.TYPE_ID, command.encode())
    lone.run_for(10 * MS)

    # The client got the id between the two.
    after = lone.add_exclusive_publication(channel, 1001).session_id
    assert after == (first + 2 + 2**31) % 2**32 - 2**31


def test_the_session_id_of_an_ipc_stream_is_free_when_its_subscribers_have_read_it(start_driver):
    lone = start_driver(timer_interval_ns=1 * S)
    ended = []
    subscription = lone.add_subscription("aeron:ipc", 1, on_unavailable_image=ended.append)
    first = lone.add_exclusive_publication("aeron:ipc?session-id=5", 1)
    lone.run_until(lambda: subscription.is_connected)
    first.close()

    # Before the next timer, which removes the stream.
    lone.run_until(lambda: ended)

    assert lone.add_exclusive_publication("aeron:ipc?session-id=5", 1).session_id == 5
