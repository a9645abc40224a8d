"""Offering batches and lists of messages into a log in memory, with both kinds of publications."""

import array
import threading

import numpy as np
import pytest

from aeron_core import (
    BACK_PRESSURED,
)


def test_a_batch_appends_each_message_between_its_offsets(stream):
    offsets = np.array([0, 1, 1, 4], dtype=np.int64)

    assert stream.publication.offer_batch(b"abcd", offsets, reserved_value=3) == 3

    assert stream.read() == [b"a", b"", b"bcd"]


def numbered(stream):
    """Return payload and reserved value of the messages that one poll delivers."""
    messages = []
    stream.subscription.poll(
        lambda buffer, header: messages.append((bytes(buffer), header.reserved_value)), 1000
    )
    return messages


def test_reserved_values_of_a_batch_increase_by_the_step(stream):
    offsets = np.array([0, 1, 1, 4], dtype=np.int64)

    assert stream.publication.offer_batch(b"abcd", offsets, reserved_value=5, reserved_step=2) == 3

    assert numbered(stream) == [(b"a", 5), (b"", 7), (b"bcd", 9)]


def test_a_numbered_batch_continues_after_back_pressure_where_it_stopped(stream):
    stream.set_limit(128)
    data, offsets = b"abcd", np.arange(5, dtype=np.int64)

    assert stream.publication.offer_batch(data, offsets, reserved_step=1) == 2
    refused = stream.publication.offer_batch(data, offsets, first=2, reserved_value=2, reserved_step=1)
    stream.set_limit(32768)
    rest = stream.publication.offer_batch(data, offsets, first=2, reserved_value=2, reserved_step=1)

    assert (refused, rest) == (BACK_PRESSURED, 2)
    assert numbered(stream) == [(b"a", 0), (b"b", 1), (b"c", 2), (b"d", 3)]


def test_a_numbered_batch_continues_in_the_next_term(stream):
    stream.set_limit(2**20)
    count = 80  # of 1,056 bytes each in the log, whose terms have 64 KiB
    offsets = np.arange(count + 1, dtype=np.int64) * 1000

    appended = stream.publication.offer_batch(bytes(count * 1000), offsets, reserved_step=1)

    values = [value for _, value in numbered(stream) + numbered(stream)]
    assert (appended, values) == (count, list(range(count)))


@pytest.mark.parametrize("offsets", [[1, 0], [0, 99], [-1, 1]])
def test_offsets_of_a_numbered_batch_outside_of_the_data_raise(stream, offsets):
    with pytest.raises(ValueError, match=r"boundaries|bytes"):
        stream.publication.offer_batch(b"abcd", np.array(offsets, dtype=np.int64), reserved_step=1)

    assert stream.publication.position == 0


def test_a_message_of_a_numbered_batch_that_is_too_long_raises(stream):
    offsets = np.array([0, stream.publication.max_message_length + 1], dtype=np.int64)

    with pytest.raises(ValueError, match=r"message of \d+ bytes|bytes"):
        stream.publication.offer_batch(bytes(offsets[1]), offsets, reserved_step=1)


@pytest.mark.parametrize(("value", "step"), [(2**63 - 1, 1), (0, 2**63), (-(2**63), -1)])
def test_a_step_out_of_int64_raises(stream, value, step):
    with pytest.raises(ValueError, match=f"^reserved_step={step}: the reserved value of the last message"):
        stream.publication.offer_batch(
            b"ab", np.arange(3, dtype=np.int64), reserved_value=value, reserved_step=step
        )


def test_a_step_with_a_peer_raises(stream):
    with pytest.raises(ValueError, match="reserved_step=1 with peer=3: must be 0 with a peer"):
        stream.publication.offer_batch(b"ab", np.arange(3, dtype=np.int64), reserved_step=1, peer=3)


def test_a_batch_continues_after_back_pressure_where_it_stopped(stream):
    stream.set_limit(128)
    data, offsets = b"abcd", np.arange(5, dtype=np.int64)

    accepted = stream.publication.offer_batch(data, offsets)
    assert accepted == 2
    assert stream.publication.offer_batch(data, offsets, first=accepted) == BACK_PRESSURED
    stream.set_limit(32768)
    assert stream.publication.offer_batch(data, offsets, first=accepted) == 2

    assert stream.read() == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize(
    "offsets", [np.arange(3, dtype=np.int32), np.array([0.0, 1.0]), array.array("H", [0, 1])]
)
def test_offsets_that_are_not_64_bit_integers_raise(stream, offsets):
    with pytest.raises(TypeError, match="must be 64-bit integers"):
        stream.publication.offer_batch(b"ab", offsets)


@pytest.mark.parametrize("offsets", [[1, 0], [0, 99], [-1, 1]])
def test_offsets_outside_of_the_data_raise(stream, offsets):
    with pytest.raises(ValueError, match=r"boundaries|bytes"):
        stream.publication.offer_batch(b"abcd", np.array(offsets, dtype=np.int64))

    assert stream.publication.position == 0


@pytest.mark.parametrize("count", [2**63, -(2**63) - 1])
def test_a_batch_count_outside_of_int64_raises(stream, count):
    with pytest.raises(
        ValueError, match=f"^count={count}: must be from 0 to 1, the messages from first=0 on$"
    ):
        stream.publication.offer_batch(b"abcd", np.array([0, 4]), count=count)


def test_many_messages_of_any_buffer_are_appended_in_order(stream):
    messages = [b"a", bytearray(b"bb"), memoryview(b"ccc"), b"", [b"d", b"dd"]]

    assert stream.publication.offer_many(messages, reserved_value=3) == 5
    assert stream.publication.offer_many(tuple(messages), first=4) == 1

    assert stream.read() == [b"a", b"bb", b"ccc", b"", b"ddd", b"ddd"]


def test_many_messages_continue_after_back_pressure_where_they_stopped(stream):
    stream.set_limit(128)
    messages = [b"a", b"b", b"c", b"d"]

    accepted = stream.publication.offer_many(messages)
    assert accepted == 2
    assert stream.publication.offer_many(messages, first=accepted) is BACK_PRESSURED
    stream.set_limit(32768)
    assert stream.publication.offer_many(messages, first=accepted) == 2

    assert stream.read() == messages


def test_many_messages_continue_in_the_next_term(stream):
    messages = [bytes([i]) * 1000 for i in range(100)]
    stream.set_limit(1 << 40)

    assert stream.publication.offer_many(messages[:40]) == 40
    assert stream.read() == messages[:40]
    assert stream.publication.offer_many(messages, first=40) == 60

    assert stream.read() + stream.read() == messages[40:]


def test_many_messages_end_before_one_that_raises_and_raise_for_it_alone(stream):
    messages = [b"a", 7, bytes(9000)]

    assert stream.publication.offer_many(messages) == 1
    with pytest.raises(TypeError, match="int"):
        stream.publication.offer_many(messages, first=1)
    with pytest.raises(ValueError, match=r"^message of 9000 bytes: must be from 0 to 8192"):
        stream.publication.offer_many(messages, first=2)

    assert stream.read() == [b"a"]


def test_no_messages_are_appended_without_an_error(stream):
    stream.set_limit(0)

    assert stream.publication.offer_many([]) == 0
    assert stream.publication.offer_many([b"a"], first=1) == 0


@pytest.mark.parametrize("messages", [b"abc", "abc", iter([b"a"]), None])
def test_many_messages_of_another_type_raise(stream, messages):
    with pytest.raises(
        TypeError, match=f"^messages of type {type(messages).__name__}: must be a list or a tuple"
    ):
        stream.publication.offer_many(messages)


@pytest.mark.parametrize("first", [-1, 3, 2**64])
def test_a_first_message_outside_of_the_list_raises(stream, first):
    with pytest.raises(ValueError, match=f"^first={first}: must be from 0 to 2, the number of messages$"):
        stream.publication.offer_many([b"a", b"b"], first=first)


def test_many_messages_for_a_closed_publication_are_refused(stream):
    stream.publication.mark_closed()

    assert repr(stream.publication.offer_many([b"a"])) == "<OfferResult.CLOSED: -4>"


def test_a_batch_releases_the_gil(stream):
    data, offsets = bytes(200 * 32), np.arange(0, 201 * 32, 32, dtype=np.int64)
    accepted = []

    threads = [
        threading.Thread(target=lambda: accepted.append(stream.publication.offer_batch(data, offsets)))
        for _ in range(1 if "Exclusive" in repr(stream.publication) else 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(stream.read()) == sum(accepted) == 200 * len(threads)
