"""Subscriptions with several images, and batches."""

import numpy as np
import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.subscriptions.image import Image
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender


def fill(log, session_id, *messages):
    limit = AtomicBuffer.allocate(8)
    limit.put_i64(0, 1 << 40)
    appender = ExclusiveAppender(log, session_id, 22, limit)
    for message in messages:
        assert appender.offer(AtomicBuffer(message), 0, len(message), 0) > 0


def sessions_of(subscription, limit):
    seen = []
    subscription.poll(lambda buffer, header: seen.append(header.session_id), limit)
    return seen


def test_each_poll_begins_with_the_next_image(images):
    subscription, logs = images(3)
    for session_id, log in enumerate(logs):
        fill(log, session_id, *[b"x"] * 4)

    assert [sessions_of(subscription, 1) for _ in range(6)] == [[0], [1], [2], [0], [1], [2]]


def test_a_poll_reads_all_images_until_its_limit(images):
    subscription, logs = images(3)
    for session_id, log in enumerate(logs):
        fill(log, session_id, b"x", b"y")

    assert sessions_of(subscription, 5) == [0, 0, 1, 1, 2]
    assert sessions_of(subscription, 5) == [2]


def test_removing_an_image_keeps_the_round_robin(images):
    subscription, logs = images(3)
    for session_id, log in enumerate(logs):
        fill(log, session_id, *[b"x"] * 4)
    sessions_of(subscription, 1)
    sessions_of(subscription, 1)

    removed = subscription.remove_image(1002)

    assert removed.is_closed
    assert [sessions_of(subscription, 1) for _ in range(3)] == [[0], [1], [0]]
    assert subscription.image_by_session_id(2) is None
    assert subscription.image_by_session_id(1) is subscription.images[1]
    assert subscription.image_count == 2


def test_a_subscription_is_connected_while_it_has_an_open_image(images):
    subscription, _ = images(1)
    assert subscription.is_connected

    subscription.remove_image(1000)

    assert not subscription.is_connected
    assert subscription.poll(lambda buffer, header: None) == 0


def test_a_batch_holds_messages_of_all_images_with_their_sessions_and_positions(images):
    subscription, logs = images(2)
    fill(logs[0], 0, b"a", b"bb")
    fill(logs[1], 1, b"ccc")

    batch = subscription.poll_batch()

    assert list(batch) == [b"a", b"bb", b"ccc"]
    assert batch.data.tobytes() == b"abbccc"
    assert batch.offsets.tolist() == [0, 1, 3, 6]
    assert batch.session_ids.tolist() == [0, 0, 1]
    assert batch.positions.tolist() == [64, 128, 64]
    assert batch.reserved_values.tolist() == [0, 0, 0]
    assert (batch.data.dtype, batch.offsets.dtype, batch.session_ids.dtype) == (np.uint8, np.int64, np.int32)
    assert [image.position for image in subscription.images] == [128, 64]


def test_a_batch_holds_at_most_the_requested_number_of_messages(images):
    subscription, logs = images(2)
    fill(logs[0], 0, b"a", b"b", b"c")

    assert list(subscription.poll_batch(2)) == [b"a", b"b"]
    assert list(subscription.poll_batch(2)) == [b"c"]
    assert len(subscription.poll_batch(2)) == 0


def test_a_batch_is_not_changed_by_the_next_poll(images):
    subscription, logs = images(1)
    fill(logs[0], 0, b"first", b"second")

    first = subscription.poll_batch(1)
    second = subscription.poll_batch(1)

    assert (list(first), list(second)) == ([b"first"], [b"second"])


def test_a_batch_reassembles_fragments(stream):
    long = bytes(range(256)) * 20
    stream.publication.offer(b"before")
    stream.publication.offer(long, reserved_value=7)
    stream.publication.offer(b"after")

    batch = stream.subscription.poll_batch()

    assert list(batch) == [b"before", long, b"after"]
    assert batch.reserved_values.tolist() == [0, 7, 0]
    assert batch.positions[-1] == stream.image.position == stream.publication.position


def test_a_message_that_is_not_complete_is_consumed_and_delivered_by_a_later_batch(stream):
    long = bytes(range(256)) * 20
    stream.publication.offer(long)
    third_frame = 2 * 1408
    length = stream.log.buffer.get_i32(third_frame)
    stream.log.buffer.put_i32(third_frame, 0)

    assert len(stream.subscription.poll_batch()) == 0
    assert stream.image.position == third_frame
    stream.log.buffer.put_i32_release(third_frame, length)

    assert list(stream.subscription.poll_batch()) == [long]


def test_messages_of_a_batch_are_read_by_index(stream):
    for message in (b"a", b"bb", b"ccc"):
        stream.publication.offer(message)

    batch = stream.subscription.poll_batch()

    assert (batch[0], batch[-1], len(batch)) == (b"a", b"ccc", 3)
    with pytest.raises(IndexError, match="message index=3: must be from -3 to 2"):
        _ = batch[3]
    with pytest.raises(IndexError, match="message index=0: the batch is empty"):
        _ = stream.subscription.poll_batch()[0]


def test_many_messages_are_whole_and_those_of_all_images(images, stream):
    subscription, logs = images(2)
    fill(logs[0], 0, b"a", b"")
    fill(logs[1], 1, b"ccc")
    long = bytes(range(256)) * 16
    stream.publication.offer(long)

    assert subscription.poll_many() == [b"a", b"", b"ccc"]
    assert subscription.poll_many() == []
    assert stream.subscription.poll_many() == [long]


def test_many_messages_are_at_most_the_requested_number(images):
    subscription, logs = images(1)
    fill(logs[0], 0, b"a", b"b", b"c")

    assert [subscription.poll_many(2), subscription.poll_many(2)] == [[b"a", b"b"], [b"c"]]


def test_a_kept_message_is_not_changed_by_the_next_poll(images):
    subscription, logs = images(1)
    fill(logs[0], 0, b"a", b"b")

    first = subscription.poll_many(1)
    second = subscription.poll_many(1)

    assert (first, second) == ([b"a"], [b"b"])


def test_a_batch_becomes_an_arrow_record_batch(stream):
    pytest.importorskip("pyarrow")
    stream.publication.offer(b"a", reserved_value=1)
    stream.publication.offer(b"bb", reserved_value=2)

    table = stream.subscription.poll_batch().to_arrow()

    assert table.to_pydict() == {
        "session_id": [11, 11],
        "position": [64, 128],
        "reserved_value": [1, 2],
        "payload": [b"a", b"bb"],
    }


def test_a_message_longer_than_a_batch_enlarges_the_batch(images, make_log):
    log = make_log(0, term_length=16 * 1024 * 1024)
    subscription, _ = images(0)
    image = Image(subscription, 0, log, AtomicCounter(AtomicBuffer.allocate(128), 0), "aeron:ipc", 1)
    subscription.add_image(image)
    message = bytes(2 * 1024 * 1024)
    fill(log, 0, b"short", message, b"short")

    assert [len(subscription.poll_batch()) for _ in range(3)] == [1, 1, 1]
    assert image.position == log.producer_position()


def test_an_invalid_frame_loses_no_message_of_its_own_or_another_image(images):
    subscription, logs = images(2)
    fill(logs[0], 0, b"a")
    fill(logs[1], 1, b"b", b"c")
    logs[1].buffer.put_i32(64, 5)

    assert list(subscription.poll_batch()) == [b"a", b"b"]
    with pytest.raises(ProtocolError):
        subscription.poll_batch()

    assert [image.position for image in subscription.images] == [64, 64]


@pytest.mark.parametrize("value", [2**31, 2**63, -(2**31) - 1])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fragment_limit", lambda subscription, value: subscription.poll(print, value)),
        ("fragment_limit", lambda subscription, value: subscription.bounded_poll(print, 0, value)),
        ("fragment_limit", lambda subscription, value: subscription.controlled_poll(print, value)),
        ("max_messages", lambda subscription, value: subscription.poll_batch(value)),
    ],
)
def test_a_limit_outside_of_int32_raises_with_the_range(stream, name, call, value):
    with pytest.raises(ValueError, match=f"^{name}={value}: must be from 0 to 2147483647$"):
        call(stream.subscription, value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("limit_position", lambda subscription, value: subscription.bounded_poll(print, value)),
        ("block_length_limit", lambda subscription, value: subscription.block_poll(print, value)),
    ],
)
def test_a_position_or_length_outside_of_int64_raises_with_the_range(stream, name, call):
    with pytest.raises(ValueError, match=f"^{name}={2**63}: must be from 0 to {2**63 - 1}$"):
        call(stream.subscription, 2**63)


@pytest.mark.parametrize("value", [None, 1.5, "1"])
def test_a_limit_that_is_not_an_integer_raises_type_error(stream, value):
    with pytest.raises(TypeError):
        stream.subscription.poll(print, value)


def test_an_overflow_error_of_a_handler_is_not_reported_as_a_wrong_limit(stream):
    def overflow(buffer, header):
        raise OverflowError("of the handler's own")

    stream.publication.offer(b"x")

    with pytest.raises(OverflowError, match="of the handler's own"):
        stream.subscription.poll(overflow)
