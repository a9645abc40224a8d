"""Assemblers with messages of several frames."""

import pytest

from aeron_core import Action, ControlledFragmentAssembler, FragmentAssembler
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender

LONG = bytes(range(256)) * 20


@pytest.fixture
def received():
    return []


@pytest.fixture
def assembler(received):
    return FragmentAssembler(lambda buffer, header: received.append((bytes(buffer), header.copy())))


def test_fragments_become_one_message_with_one_header(stream, assembler, received):
    stream.publication.offer(LONG, reserved_value=6)

    stream.subscription.poll(assembler)

    [(message, header)] = received
    assert message == LONG
    assert header.frame_length == len(LONG) + 32
    assert header.flags == 0xC0
    assert header.reserved_value == 6
    assert header.term_offset == 0
    assert header.position == stream.publication.position


def test_an_unfragmented_message_is_passed_through(stream, assembler, received):
    stream.publication.offer(b"short")

    stream.subscription.poll(assembler)

    assert [message for message, _ in received] == [b"short"]


def test_fragments_of_several_polls_are_reassembled(stream, assembler, received):
    stream.publication.offer(LONG)
    stream.publication.offer(LONG[::-1])

    while stream.subscription.poll(assembler, 1):
        pass

    assert [message for message, _ in received] == [LONG, LONG[::-1]]


def test_a_message_with_a_gap_is_dropped_and_the_next_one_is_delivered(stream, assembler, received):
    stream.publication.offer(LONG)
    stream.publication.offer(b"next")
    stream.log.buffer.put_u16(1408 + 6, 0)  # the second frame is padding now

    stream.subscription.poll(assembler)

    assert [message for message, _ in received] == [b"next"]


def test_a_message_that_is_longer_than_allowed_is_dropped_and_the_next_one_is_delivered(stream, received):
    limited = FragmentAssembler(lambda buffer, _: received.append(bytes(buffer)), len(LONG) - 1)
    stream.publication.offer(LONG)
    stream.publication.offer(LONG[:4000])

    stream.subscription.poll(limited)

    assert received == [LONG[:4000]]


def test_a_message_without_its_first_fragment_is_dropped(stream, assembler, received):
    stream.publication.offer(LONG)
    stream.publication.offer(b"next")
    stream.position_counter.set(1408)

    stream.subscription.poll(assembler)

    assert [message for message, _ in received] == [b"next"]


def test_sessions_are_reassembled_separately(images, assembler, received):
    subscription, logs = images(2)
    limit = AtomicBuffer.allocate(8)
    limit.put_i64(0, 1 << 40)
    for session_id, log in enumerate(logs):
        message = bytes([session_id]) * 4000
        ExclusiveAppender(log, session_id, 22, limit).offer(AtomicBuffer(message), 0, 4000, 0)

    while subscription.poll(assembler, 1):
        pass

    assert sorted(message for message, _ in received) == [bytes(4000), b"\1" * 4000]


def test_free_session_drops_an_incomplete_message(stream, assembler, received):
    stream.publication.offer(LONG)
    stream.subscription.poll(assembler, 2)

    assert assembler.free_session(11)
    assert not assembler.free_session(11)
    stream.subscription.poll(assembler)

    assert received == []


def test_a_message_whose_handler_raises_counts_as_delivered(stream, received):
    def on_message(buffer, header):
        received.append(bytes(buffer))
        raise RuntimeError("handler")

    assembler = FragmentAssembler(on_message)
    stream.publication.offer(LONG)
    stream.publication.offer(b"next")
    with pytest.raises(RuntimeError, match="handler"):
        stream.subscription.poll(assembler)
    with pytest.raises(RuntimeError, match="handler"):
        stream.subscription.poll(assembler)

    assert received == [LONG, b"next"]


def test_an_aborted_message_is_delivered_again_whole(stream):
    answers = iter([Action.ABORT, Action.ABORT, Action.CONTINUE, Action.CONTINUE])
    received = []

    def on_message(buffer, header):
        received.append(bytes(buffer))
        return next(answers)

    assembler = ControlledFragmentAssembler(on_message)
    stream.publication.offer(LONG)
    stream.publication.offer(b"next")
    for _ in range(3):
        stream.subscription.controlled_poll(assembler)

    assert received == [LONG, LONG, LONG, b"next"]
    assert stream.image.position == stream.publication.position


def test_a_controlled_message_that_is_longer_than_allowed_is_dropped(stream):
    received = []
    limited = ControlledFragmentAssembler(lambda buffer, _: received.append(bytes(buffer)), len(LONG) - 1)
    stream.publication.offer(LONG)
    stream.publication.offer(LONG[:4000])

    stream.subscription.controlled_poll(limited)

    assert received == [LONG[:4000]]
