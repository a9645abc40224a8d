"""Ring buffer: records, free space, claims, and reading."""

import struct

import pytest
from rings import CAPACITY, make_ring, read_all, set_tail

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.ring_buffer import FULL, ManyToOneRingBuffer, ReadAction
from aeron_core.errors import ConfigurationError


def test_messages_are_read_in_the_order_they_were_written():
    ring = make_ring()

    assert ring.write(7, b"first")
    assert ring.write(8, memoryview(b"second"))
    assert ring.write(9, b"")

    assert read_all(ring) == [(7, b"first"), (8, b"second"), (9, b"")]
    assert read_all(ring) == []


def test_a_record_is_its_length_type_and_message_aligned_to_eight():
    ring = make_ring()

    ring.write(7, b"hello")

    assert ring.buffer.get_bytes(0, 16) == struct.pack("<ii5s3x", 13, 7, b"hello")
    assert (ring.producer_position, ring.consumer_position, ring.size) == (16, 0, 16)


def test_space_is_zeroed_and_freed_after_it_was_read():
    ring = make_ring()
    ring.write(7, b"hello")

    read_all(ring)

    assert ring.buffer.get_bytes(0, 16) == bytes(16)
    assert (ring.producer_position, ring.consumer_position, ring.size) == (16, 16, 0)


def test_read_stops_at_its_limit():
    ring = make_ring()
    for number in range(5):
        ring.write(number + 1, b"x")

    assert [type_id for type_id, _ in read_all(ring, limit=2)] == [1, 2]
    assert [type_id for type_id, _ in read_all(ring, limit=9)] == [3, 4, 5]


def test_write_fails_while_the_ring_is_full_and_succeeds_after_a_read():
    ring = make_ring()
    message = bytes(120)
    written = 0
    while ring.write(1, message):
        written += 1

    refused = ring.write(1, b"")
    read_all(ring, limit=1)

    assert (written, refused) == (8, False)
    assert ring.write(1, message)


def test_a_message_that_does_not_fit_before_the_end_is_put_at_the_start_after_padding():
    ring = make_ring(head=CAPACITY - 32)

    ring.write(1, bytes(40))

    assert ring.buffer.get_i32(CAPACITY - 32) == 32
    assert ring.buffer.get_i32(CAPACITY - 28) == wire.RECORD_PADDING_TYPE
    assert ring.buffer.get_i32(0) == 48
    assert read_all(ring) == []
    assert read_all(ring) == [(1, bytes(40))]


def test_wrapping_needs_free_space_before_the_head():
    ring = make_ring(head=CAPACITY - 32)
    set_tail(ring, 2 * CAPACITY - 64)

    assert ring.try_claim(1, 128) == FULL


def test_a_message_longer_than_an_eighth_of_the_ring_is_rejected():
    ring = make_ring()

    assert ring.write(1, bytes(CAPACITY // 8))
    with pytest.raises(ConfigurationError, match="message of 129 bytes: must be from 0 to 128"):
        ring.write(1, bytes(CAPACITY // 8 + 1))
    with pytest.raises(ConfigurationError):
        ring.try_claim(1, -1)


@pytest.mark.parametrize("type_id", [0, -1, 1 << 31])
def test_an_invalid_type_is_rejected(type_id):
    ring = make_ring()

    with pytest.raises(ConfigurationError, match=f"type_id={type_id}"):
        ring.write(type_id, b"")

    assert ring.producer_position == 0


def test_a_message_that_is_not_contiguous_claims_nothing():
    ring = make_ring()

    with pytest.raises(TypeError):
        ring.write(1, memoryview(bytes(16))[::2])

    assert ring.producer_position == 0


@pytest.mark.parametrize("length", [768, 768 + 1000, 768 + 4, 100, 0])
def test_a_buffer_that_is_not_a_power_of_two_plus_a_trailer_is_rejected(length):
    with pytest.raises(ConfigurationError, match="power of two"):
        ManyToOneRingBuffer(AtomicBuffer.allocate(length))


def test_the_smallest_ring_carries_no_message():
    assert make_ring(capacity=8).max_message_length == 0


def test_a_claim_is_invisible_until_its_commit():
    ring = make_ring()

    at = ring.try_claim(5, 3)
    ring.buffer.put_bytes(at, b"abc")
    before = read_all(ring)

    assert ring.commit(at)
    assert (before, read_all(ring)) == ([], [(5, b"abc")])


def test_an_aborted_claim_is_skipped():
    ring = make_ring()
    at = ring.try_claim(5, 3)
    ring.write(6, b"next")

    assert ring.abort(at)

    assert read_all(ring) == [(6, b"next")]


def test_a_claim_ends_once():
    ring = make_ring()
    at = ring.try_claim(5, 3)

    assert ring.commit(at)

    assert not ring.commit(at)
    assert not ring.abort(at)


@pytest.mark.parametrize("offset", [-8, 0, 7, 12, CAPACITY + 8])
def test_an_offset_where_no_claim_can_be_is_rejected(offset):
    with pytest.raises(ConfigurationError, match=f"offset={offset}"):
        make_ring().commit(offset)


def test_a_message_whose_handler_raises_is_consumed():
    ring = make_ring()
    ring.write(1, b"bad")
    ring.write(2, b"good")

    with pytest.raises(ZeroDivisionError):
        ring.read(lambda *_: 1 // 0, 10)

    assert read_all(ring) == [(2, b"good")]


def test_an_aborted_message_is_read_again():
    ring = make_ring()
    ring.write(1, b"one")
    ring.write(2, b"two")
    actions = iter([ReadAction.CONTINUE, ReadAction.ABORT])

    assert ring.controlled_read(lambda *_: next(actions), 10) == 1

    assert ring.consumer_position == 16
    assert read_all(ring) == [(2, b"two")]


def test_a_read_that_breaks_leaves_the_rest():
    ring = make_ring()
    ring.write(1, b"one")
    ring.write(2, b"two")

    assert ring.controlled_read(lambda *_: ReadAction.BREAK, 10) == 1

    assert read_all(ring) == [(2, b"two")]


def test_a_committing_read_frees_the_space_before_the_next_message():
    ring = make_ring()
    for type_id in (1, 2):
        ring.write(type_id, b"x")
    seen = []

    def handler(type_id, buffer, at, length):
        seen.append((type_id, ring.consumer_position))
        return ReadAction.COMMIT

    assert ring.controlled_read(handler, 10) == 2
    assert seen == [(1, 0), (2, 16)]
    assert ring.consumer_position == 32


def test_correlation_ids_count_up_from_what_the_ring_holds():
    ring = make_ring()

    assert [ring.next_correlation_id() for _ in range(3)] == [0, 1, 2]


def test_the_heartbeat_of_the_consumer_is_what_was_set_last():
    ring = make_ring()

    ring.consumer_heartbeat_ms = 1_700_000_000_123

    assert ring.consumer_heartbeat_ms == 1_700_000_000_123
    assert ring.buffer.get_i64(CAPACITY + 640) == 1_700_000_000_123


def test_rewritten_commands_equal_the_bytes_of_a_real_client(recorded_commands):
    commands = [command for step in recorded_commands["steps"] for command in step["commands"]]
    assert len(commands) > 20

    for command in commands:
        ring = make_ring(capacity=1 << 20, head=command["position"])
        ring.write(command["type_id"], bytes.fromhex(command["message_hex"]))

        assert ring.size == command["aligned_length"]
        record = ring.buffer.get_bytes(command["offset"], command["aligned_length"])
        assert record.hex() == command["record_hex"]


def test_the_ring_of_a_real_driver_is_read_as_recorded(recorded_cnc, cnc_section):
    ring = ManyToOneRingBuffer(cnc_section("to_driver"))
    recorded = recorded_cnc["to_driver"]

    assert ring.capacity == recorded["capacity"]
    assert ring.producer_position == recorded["tail_position"]
    assert ring.consumer_position == recorded["head_position"]
    assert ring.consumer_heartbeat_ms == recorded["consumer_heartbeat_ms"]
    assert read_all(ring) == [(r["type_id"], bytes.fromhex(r["message_hex"])) for r in recorded["records"]]
    assert ring.next_correlation_id() == recorded["correlation_counter"]
    assert ring.consumer_position == recorded["tail_position"]
