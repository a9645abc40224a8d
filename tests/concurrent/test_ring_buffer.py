import multiprocessing
import struct
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.mapped import map_fd
from aeron_core.concurrent.records import MAX_POSITION
from aeron_core.concurrent.ring_buffer import FULL, ManyToOneRingBuffer, ReadAction
from aeron_core.errors import ConfigurationError, ProtocolError

CAPACITY = 1024


def make_ring(capacity=CAPACITY, head=0):
    ring = ManyToOneRingBuffer(AtomicBuffer.allocate(capacity + wire.RING_TRAILER_LENGTH))
    for offset in (wire.RING_HEAD_OFFSET, wire.RING_HEAD_CACHE_OFFSET, wire.RING_TAIL_OFFSET):
        ring.buffer.put_i64(capacity + offset, head)
    return ring


def read_all(ring, limit=1000):
    messages = []
    ring.read(
        lambda type_id, buffer, at, length: messages.append((type_id, buffer.get_bytes(at, length))), limit
    )
    return messages


def set_tail(ring, tail):
    ring.buffer.put_i64(ring.capacity + wire.RING_TAIL_OFFSET, tail)


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


def test_unblock_turns_an_abandoned_claim_into_padding():
    ring = make_ring()
    at = ring.try_claim(5, 3)
    ring.write(6, b"next")

    assert ring.unblock()

    assert read_all(ring) == [(6, b"next")]
    assert not ring.commit(at)


def test_unblock_skips_the_gap_of_a_producer_that_crashed_before_it_stored_a_length():
    ring = make_ring()
    set_tail(ring, 64)
    ring.write(6, b"next")

    assert ring.unblock()

    assert ring.buffer.get_i32(0) == 64
    assert read_all(ring) == [(6, b"next")]


def test_unblock_does_not_touch_a_gap_with_nothing_after_it():
    ring = make_ring()
    set_tail(ring, 64)

    assert not ring.unblock()


def test_unblock_works_up_to_the_end_of_the_buffer():
    ring = make_ring(head=CAPACITY - 64)
    set_tail(ring, CAPACITY + 64)
    ring.buffer.put_i32(CAPACITY - 32, -32)

    assert ring.unblock()

    assert ring.buffer.get_i32(CAPACITY - 64) == 32


@pytest.mark.parametrize("messages", [0, 1])
def test_unblock_does_nothing_if_the_ring_is_not_blocked(messages):
    ring = make_ring()
    for _ in range(messages):
        ring.write(1, b"x")

    assert not ring.unblock()


@pytest.mark.parametrize("length", [-4, -(1 << 31), -2000])
def test_unblock_handles_a_claim_with_an_impossible_length(length):
    ring = make_ring()
    ring.try_claim(1, 24)
    ring.buffer.put_i32(0, length)

    assert ring.unblock()

    assert read_all(ring) == []
    assert ring.consumer_position == 32


def test_correlation_ids_count_up_from_what_the_ring_holds():
    ring = make_ring()

    assert [ring.next_correlation_id() for _ in range(3)] == [0, 1, 2]


def test_the_heartbeat_of_the_consumer_is_what_was_set_last():
    ring = make_ring()

    ring.consumer_heartbeat_ms = 1_700_000_000_123

    assert ring.consumer_heartbeat_ms == 1_700_000_000_123
    assert ring.buffer.get_i64(CAPACITY + 640) == 1_700_000_000_123


@pytest.mark.parametrize("length", [1, 7, 1025, 2**31 - 1, 48])
def test_an_impossible_record_raises_once_and_the_ring_continues(length):
    ring = make_ring()
    ring.write(1, b"good")
    ring.write(2, b"bad")
    ring.buffer.put_i32(16, length)
    seen = []

    with pytest.raises(ProtocolError, match=f"record of {length} bytes at 16"):
        ring.read(lambda type_id, *_: seen.append(type_id), 10)

    assert seen == [1]
    ring.write(3, b"after")
    assert read_all(ring) == [(3, b"after")]


def test_a_record_past_the_tail_raises_once_and_the_ring_continues():
    ring = make_ring()
    ring.buffer.put_i32(0, 16)

    with pytest.raises(ProtocolError):
        read_all(ring)

    ring.write(3, b"after")
    assert read_all(ring) == [(3, b"after")]


WRONG_POSITIONS = [-8, 4, 2**63 - 8, 1 << 40]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_an_overwritten_head_raises_once_and_no_message_is_lost(position):
    ring = make_ring()
    ring.write(1, b"first")
    read_all(ring)
    ring.write(2, b"second")
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_OFFSET, position)

    assert read_all(ring) == [(2, b"second")]
    with pytest.raises(ProtocolError, match="head of the command ring overwritten"):
        ring.head.check_producers()
    ring.head.check_producers()
    assert ring.write(3, b"third")
    assert read_all(ring) == [(3, b"third")]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_a_head_that_is_impossible_from_the_start_is_reset_to_the_tail(position):
    ring = make_ring()
    ring.write(1, b"lost")
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_OFFSET, position)

    with pytest.raises(ProtocolError, match="impossible head of the command ring"):
        read_all(ring)

    ring.write(2, b"next")
    assert read_all(ring) == [(2, b"next")]


@pytest.mark.parametrize("head", [MAX_POSITION, MAX_POSITION - 8, 0])
def test_positions_that_are_the_last_ones_from_the_start_are_reset(head):
    ring = make_ring(head=head)
    set_tail(ring, MAX_POSITION)

    with pytest.raises(ProtocolError, match="impossible head of the command ring"):
        read_all(ring)
    with pytest.raises(ProtocolError, match="tail of the command ring overwritten"):
        ring.head.check_producers()

    for number in range(CAPACITY):
        ring.write(2, b"next")
        ring.head.check_producers()
        # A read ends at the end of the buffer.
        assert read_all(ring) + read_all(ring) == [(2, b"next")], number


@pytest.mark.parametrize("position", [*WRONG_POSITIONS, 0, 8 + CAPACITY * 3])
def test_an_overwritten_tail_raises_once_and_is_reset_to_the_head(position):
    ring = make_ring(head=CAPACITY * 2)
    assert read_all(ring) == []
    ring.write(1, b"lost")
    set_tail(ring, position)

    with pytest.raises(ProtocolError, match="tail of the command ring overwritten"):
        ring.head.check_producers()

    ring.head.check_producers()
    ring.write(2, b"next")
    assert read_all(ring) == [(2, b"next")]


@pytest.mark.parametrize("position", WRONG_POSITIONS)
def test_an_overwritten_head_cache_is_reset_to_the_head(position):
    ring = make_ring()
    ring.buffer.put_i64(CAPACITY + wire.RING_HEAD_CACHE_OFFSET, position)

    ring.head.check_producers()

    assert ring.write(1, b"x")
    assert read_all(ring) == [(1, b"x")]


def test_the_positions_of_a_full_ring_are_correct():
    ring = make_ring()
    while ring.write(1, bytes(100)):
        pass
    read_all(ring, limit=3)
    while ring.write(1, bytes(100)):
        pass

    ring.head.check_producers()

    assert len(read_all(ring)) + len(read_all(ring)) == 9


@pytest.mark.parametrize("position", [-8, 4, 2**63 - 8])
def test_a_producer_rejects_an_impossible_position(position):
    ring = make_ring()
    set_tail(ring, position)

    with pytest.raises(ProtocolError, match=f"position {position}"):
        ring.write(1, b"x")


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=64, max_size=64), st.integers(-(2**63), 2**63 - 1), st.integers(-16, 96))
def test_no_content_of_the_ring_causes_a_read_outside_it_or_an_endless_loop(records, head, ahead):
    ring = make_ring(capacity=64)
    ring.buffer.put_bytes(0, records)
    head = (head if head % 3 else head & ~7) % (1 << 62)
    ring.buffer.put_i64(64 + wire.RING_HEAD_OFFSET, head)
    ring.buffer.put_i64(64 + wire.RING_TAIL_OFFSET, head + ahead)
    trailer_length = wire.RING_TRAILER_LENGTH

    for step in (lambda: read_all(ring), ring.unblock, lambda: ring.write(1, b"x"), lambda: read_all(ring)):
        try:
            step()
        except ProtocolError:
            pass
        else:
            assert 0 <= ring.size <= 64

    assert ring.buffer.get_bytes(64, 128) == bytes(128)
    assert ring.buffer.get_bytes(64 + 648, trailer_length - 648) == bytes(trailer_length - 648)


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


def produce(ring, producer, count):
    for number in range(count):
        message = struct.pack("<ii", producer, number) + bytes([producer]) * (number % 40)
        while not ring.write(producer + 1, message):
            pass


def consume(ring, producers, count):
    """Read everything and check that each producer's messages are intact and in order."""
    expected = [0] * producers

    def handler(type_id, buffer, at, length):
        producer, number = struct.unpack("<ii", buffer.get_bytes(at, 8))
        assert type_id == producer + 1
        assert number == expected[producer]
        assert buffer.get_bytes(at + 8, length - 8) == bytes([producer]) * (number % 40)
        expected[producer] += 1

    while sum(expected) < producers * count:
        ring.read(handler, 10)
    assert read_all(ring) == []


@pytest.fixture
def restless_threads():
    """Let threads run in turns of 0.1 ms: a producer that finds no space spins to the end of its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless_threads")
def test_concurrent_threads_lose_and_mix_no_message():
    ring = make_ring(capacity=512)
    threads = [threading.Thread(target=produce, args=(ring, n, 1000), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()

    consume(ring, 3, 1000)

    assert ring.size == 0


@pytest.mark.system
def test_concurrent_processes_lose_and_mix_no_message(tmp_path):
    path = tmp_path / "ring"
    path.write_bytes(bytes(1024 + wire.RING_TRAILER_LENGTH))
    with path.open("r+b") as file:
        ring = ManyToOneRingBuffer(map_fd(file.fileno(), 1024 + wire.RING_TRAILER_LENGTH))
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=produce, args=(ring, n, 4000), daemon=True) for n in range(2)]
    for worker in workers:
        worker.start()

    consume(ring, 2, 4000)

    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0]
