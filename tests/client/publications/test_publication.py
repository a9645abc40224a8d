"""Offering into a log in memory, with both kinds of publications."""

import array

import numpy as np
import pytest

from aeron_core import (
    BACK_PRESSURED,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    MaxPositionExceededError,
    NoClaimError,
    OfferResult,
)
from aeron_core._native import wire
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.publications.publication_arguments import PublicationArguments

MAX_MESSAGE_LENGTH = 8192
TERM_LENGTH = 65536


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        bytearray(b"hello"),
        memoryview(b"-hello-")[1:6],
        array.array("b", b"hello"),
        np.frombuffer(b"hello", np.uint8),
        [b"he", bytearray(b"l"), memoryview(b"lo")],
        (b"", b"hello"),
    ],
    ids=["bytes", "bytearray", "memoryview", "array", "numpy", "list", "tuple"],
)
def test_any_contiguous_buffer_and_any_list_of_them_is_a_message(stream, data):
    assert stream.publication.offer(data) == 64

    assert stream.read() == [b"hello"]


@pytest.mark.parametrize("data", ["text", 5, None, memoryview(b"hello")[::2]])
def test_data_that_is_not_contiguous_raises_and_nothing_is_appended(stream, data):
    with pytest.raises((TypeError, BufferError)):
        stream.publication.offer(data)

    assert stream.publication.position == 0


def test_an_empty_message_is_delivered(stream):
    assert stream.publication.offer(b"") == 32

    assert stream.read() == [b""]


def test_a_reserved_value_is_delivered_with_the_message(stream):
    stream.publication.offer(b"hello", reserved_value=-5)

    seen = []
    stream.subscription.poll(lambda buffer, header: seen.append(header.reserved_value))
    assert seen == [-5]


def test_a_message_that_is_too_long_raises_with_the_maximum_length(stream):
    for data in (bytes(MAX_MESSAGE_LENGTH + 1), [bytes(MAX_MESSAGE_LENGTH), b"x"]):
        with pytest.raises(ValueError, match=f"{MAX_MESSAGE_LENGTH + 1} bytes: must be from 0 to 8192"):
            stream.publication.offer(data)

    assert stream.publication.offer(bytes(MAX_MESSAGE_LENGTH)) > 0


def test_an_offer_is_back_pressured_at_the_limit_and_not_connected_without_a_receiver(stream):
    stream.set_limit(0)

    assert stream.publication.offer(b"x") == BACK_PRESSURED
    stream.log.set_is_connected(False)
    assert stream.publication.offer(b"x") == NOT_CONNECTED


def test_all_calls_of_a_closed_publication_return_closed(stream):
    publication = stream.publication
    publication.mark_closed()

    assert publication.offer(b"x") == CLOSED
    assert publication.offer_batch(b"x", np.array([0, 1])) == CLOSED
    assert publication.try_claim(1).position == CLOSED
    assert (publication.position, publication.position_limit, publication.available_window) == (CLOSED,) * 3
    assert not publication.is_connected


def test_a_publication_has_a_position_a_limit_and_an_available_window(stream):
    stream.publication.offer(b"x")

    assert stream.publication.position == 64
    assert stream.publication.position_limit == 32768
    assert stream.publication.available_window == 32768 - 64
    assert stream.publication.max_payload_length == 1408 - 32
    assert stream.publication.max_message_length == MAX_MESSAGE_LENGTH


def test_a_mutable_payload_can_be_resized_after_the_offer(stream):
    data = bytearray(b"hello")
    stream.publication.offer(data)

    data.extend(b" again")

    assert stream.read() == [b"hello"]


def test_a_payload_that_offers_while_it_is_exported_does_not_disturb_the_outer_offer(stream):
    class Sneaky:
        def __buffer__(self, flags):
            stream.publication.offer(b"inner")
            return memoryview(b"outer")

    try:
        memoryview(Sneaky())
    except TypeError:
        pytest.skip("buffers made by Python code need Python 3.12")
    stream.publication.offer(Sneaky())

    assert stream.read()[-2:] == [b"inner", b"outer"]


def test_a_claim_is_committed_by_the_end_of_its_block(stream):
    with stream.publication.try_claim(5) as claim:
        assert claim
        assert claim.position == 64
        claim.buffer[:] = b"world"
        claim.reserved_value = 9
        assert stream.read() == []

    assert not claim
    assert stream.read() == [b"world"]


def test_a_claim_is_aborted_by_an_exception_and_readers_skip_it(stream):
    def write_half():
        with stream.publication.try_claim(5) as claim:
            claim.buffer[:2] = b"wo"
            raise RuntimeError("broken off")

    with pytest.raises(RuntimeError, match="broken off"):
        write_half()
    stream.publication.offer(b"next")

    assert stream.read() == [b"next"]
    assert stream.image.position == 128


def test_a_failed_claim_is_false_has_the_reason_and_cannot_be_filled(stream):
    stream.set_limit(0)

    with stream.publication.try_claim(5) as claim:
        assert not claim
        assert claim.position == BACK_PRESSURED
        with pytest.raises(NoClaimError, match="BACK_PRESSURED"):
            _ = claim.buffer


def test_several_claims_may_be_open_and_readers_wait_for_the_first(stream):
    first = stream.publication.try_claim(1)
    second = stream.publication.try_claim(1)
    first.buffer[:] = b"1"
    second.buffer[:] = b"2"

    second.commit()
    assert stream.read() == []
    first.commit()

    assert stream.read() == [b"1", b"2"]


def test_a_claim_longer_than_a_frame_raises_with_the_maximum_length(stream):
    with pytest.raises(ValueError, match="1377 bytes: must be from 0 to 1376 to be claimed"):
        stream.publication.try_claim(1377)


def test_a_claim_of_a_negative_length_raises_without_advice_for_a_long_message(stream):
    with pytest.raises(ValueError, match=r"^message of -1 bytes: must be from 0 to 1376$"):
        stream.publication.try_claim(-1)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**200])
@pytest.mark.parametrize("data", [b"hello", bytearray(b"hello"), [b"hel", b"lo"]])
def test_a_reserved_value_outside_of_int64_raises(stream, data, value):
    with pytest.raises(ValueError, match=f"^reserved_value={value}: must be from -{2**63} to {2**63 - 1}$"):
        stream.publication.offer(data, reserved_value=value)

    assert stream.publication.position == 0


def test_invalid_counts_of_batches_and_lengths_of_claims_raise(stream):
    offsets = np.array([0, 4])

    with pytest.raises(ValueError, match=f"^first={2**63}: must be from 0 to "):
        stream.publication.offer_batch(b"abcd", offsets, first=2**63)
    with pytest.raises(ValueError, match=f"^length={2**31}: must be from 0 to "):
        stream.publication.try_claim(2**31)
    with stream.publication.try_claim(4) as claim:
        claim.buffer[:] = b"next"


def test_an_offer_at_the_end_of_a_term_continues_in_the_next_term(stream):
    stream.set_limit(1 << 40)
    accepted = 0
    for _ in range(100):
        accepted += stream.publication.offer(bytes(1000)) > 0

    assert stream.publication.position > stream.log.term_length
    fragments = sum(1 for _ in range(3) for _ in stream.read())
    assert fragments == accepted


class Owner:
    """A client that never waits: the condition must hold at once."""

    def await_until(self, condition, timeout):
        assert condition()
        return True


def at_the_maximum_position(stream):
    """Return a publication of a stream that has almost no positions left."""
    log = stream.log
    last_term_id = 7 + (1 << 31) - 1 - (1 << 32)
    last_index = ((1 << 31) - 1) % 3
    log.buffer.put_i64(log.metadata_offset + 8 * last_index, (last_term_id << 32) + TERM_LENGTH - 32)
    log.buffer.put_i32(log.metadata_offset + wire.LOG_ACTIVE_TERM_COUNT_OFFSET, (1 << 31) - 1)
    publication = type(stream.publication)(
        PublicationArguments(
            owner=Owner(),
            channel="aeron:ipc",
            stream_id=22,
            session_id=11,
            registration_id=1,
            original_registration_id=1,
            channel_status_id=-1,
            position_limit_id=0,
            log=log,
            limit=stream.values,
        )
    )
    stream.set_limit(1 << 62)
    return publication


def test_offers_beyond_the_maximum_position_fail(stream):
    assert at_the_maximum_position(stream).offer(bytes(1000)) == MAX_POSITION_EXCEEDED


def test_sending_beyond_the_maximum_position_raises_at_once(stream):
    with pytest.raises(MaxPositionExceededError, match="maximum position 140737488355328"):
        at_the_maximum_position(stream).send(bytes(1000))


def test_an_accepted_offer_returns_a_plain_integer(stream):
    publication = stream.publication
    offsets = np.array([0, 1, 2])

    assert {type(publication.offer(data)) for data in (b"x", bytearray(b"x"), [b"x"])} == {int}
    assert type(publication.offer_batch(b"xy", offsets)) is int
    with publication.try_claim(1) as claim:
        assert type(claim.position) is int


def test_a_refused_offer_returns_the_named_reason_and_allocates_nothing(stream):
    publication = stream.publication
    stream.set_limit(0)

    for refused in (
        publication.offer(b"x"),
        publication.offer(bytearray(b"x")),
        publication.offer([b"x"]),
        publication.offer_batch(b"xy", np.array([0, 1, 2])),
        publication.try_claim(1).position,
    ):
        assert refused is OfferResult.BACK_PRESSURED
    assert repr(publication.offer(b"x")) == "<OfferResult.BACK_PRESSURED: -2>"
    assert f"{publication.offer(b'x')}" == "-2"
    assert "OfferResult.BACK_PRESSURED" in repr(publication.try_claim(1))


def test_every_reason_has_a_name(stream):
    publication = stream.publication
    stream.set_limit(0)
    stream.log.set_is_connected(False)
    assert repr(publication.offer(b"x")) == "<OfferResult.NOT_CONNECTED: -1>"

    publication.mark_closed()
    assert [repr(value) for value in (publication.offer(b"x"), publication.position)] == [
        "<OfferResult.CLOSED: -4>"
    ] * 2
    assert repr(publication.offer_batch(b"x", np.array([0, 1]))) == "<OfferResult.CLOSED: -4>"
    assert [result.value for result in OfferResult] == list(range(-1, -9, -1))


def test_refused_blocks_and_padding_have_named_reasons(exclusive_stream):
    exclusive_stream.set_limit(0)

    assert repr(exclusive_stream.publication.append_padding(100)) == "<OfferResult.BACK_PRESSURED: -2>"
    exclusive_stream.publication.mark_closed()
    assert repr(exclusive_stream.publication.append_padding(100)) == "<OfferResult.CLOSED: -4>"
    assert repr(exclusive_stream.publication.offer_block(b"")) == "<OfferResult.CLOSED: -4>"


def test_padding_is_skipped_by_readers(exclusive_stream):
    assert exclusive_stream.publication.append_padding(100) == 160
    exclusive_stream.publication.offer(b"x")

    assert exclusive_stream.read() == [b"x"]


def test_a_block_of_matching_frames_is_appended_unchanged(exclusive_stream):
    source = exclusive_stream.log
    exclusive_stream.publication.offer(b"first")
    frame = bytearray(source.buffer.get_bytes(0, 64))
    frame[wire.DATA_TERM_OFFSET_OFFSET : wire.DATA_TERM_OFFSET_OFFSET + 4] = (64).to_bytes(4, "little")

    assert exclusive_stream.publication.offer_block(frame) == 128

    assert exclusive_stream.read() == [b"first", b"first"]


def test_a_block_for_another_position_raises(exclusive_stream):
    exclusive_stream.publication.offer(b"first")
    frame = exclusive_stream.log.buffer.get_bytes(0, 64)

    with pytest.raises(ValueError, match="offset 64 on"):
        exclusive_stream.publication.offer_block(frame)


def test_the_limit_of_another_stream_has_no_effect(stream):
    AtomicCounter(stream.values, 1).set(0)

    assert stream.publication.offer(b"x") == 64
