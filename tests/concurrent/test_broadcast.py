import contextlib
import multiprocessing
import struct
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.mapped import map_fd
from aeron_core.concurrent.broadcast_receiver import LAPPED, BroadcastReceiver
from aeron_core.concurrent.broadcast_transmitter import BroadcastTransmitter
from aeron_core.errors import ConfigurationError, ProtocolError

CAPACITY = 1024


def make_buffer(capacity=CAPACITY, position=0):
    buffer = AtomicBuffer.allocate(capacity + wire.BROADCAST_TRAILER_LENGTH)
    for offset in (
        wire.BROADCAST_TAIL_INTENT_OFFSET,
        wire.BROADCAST_TAIL_OFFSET,
        wire.BROADCAST_LATEST_OFFSET,
    ):
        buffer.put_i64(capacity + offset, position)
    return buffer


def receive_all(receiver):
    messages = []

    def handler(type_id, buffer, at, length):
        messages.append((type_id, buffer.get_bytes(at, length)))

    while receiver.receive(handler) > 0:
        pass
    return messages


def counters(buffer):
    return tuple(buffer.get_i64(CAPACITY + offset) for offset in (0, 8, 16))


def test_every_receiver_gets_every_message_in_order():
    buffer = make_buffer()
    receivers = [BroadcastReceiver(buffer) for _ in range(2)]
    transmitter = BroadcastTransmitter(buffer)

    transmitter.transmit(7, b"first")
    transmitter.transmit(8, memoryview(b""))

    for receiver in receivers:
        assert receive_all(receiver) == [(7, b"first"), (8, b"")]
        assert receive_all(receiver) == []


def test_a_record_is_its_length_type_and_message_aligned_to_eight():
    buffer = make_buffer()
    transmitter = BroadcastTransmitter(buffer)

    transmitter.transmit(7, b"hello")
    transmitter.transmit(8, b"")

    assert buffer.get_bytes(0, 24) == struct.pack("<ii5s3xii", 13, 7, b"hello", 8, 8)
    assert counters(buffer) == (24, 24, 16)


def test_a_message_that_does_not_fit_before_the_end_is_put_at_the_start_after_padding():
    buffer = make_buffer(position=CAPACITY - 32)
    receiver = BroadcastReceiver(buffer)
    transmitter = BroadcastTransmitter(buffer)

    transmitter.transmit(1, bytes(40))

    assert buffer.get_bytes(CAPACITY - 32, 8) == struct.pack("<ii", 32, wire.RECORD_PADDING_TYPE)
    assert counters(buffer) == (CAPACITY + 48, CAPACITY + 48, CAPACITY)
    assert receive_all(receiver) == [(1, bytes(40))]


def test_a_transmitter_continues_at_the_tail_of_the_buffer():
    buffer = make_buffer()
    BroadcastTransmitter(buffer).transmit(1, b"a")
    receiver = BroadcastReceiver(buffer)

    BroadcastTransmitter(buffer).transmit(2, b"b")

    assert receive_all(receiver) == [(1, b"a"), (2, b"b")]


def test_a_new_receiver_starts_with_the_latest_message():
    buffer = make_buffer()
    transmitter = BroadcastTransmitter(buffer)
    transmitter.transmit(1, b"old")
    transmitter.transmit(2, b"latest")

    assert receive_all(BroadcastReceiver(buffer)) == [(2, b"latest")]


def test_a_message_longer_than_the_initial_scratch_buffer_is_received_completely():
    buffer = make_buffer(capacity=1 << 17)
    receiver = BroadcastReceiver(buffer)
    message = bytes(range(256)) * 64

    BroadcastTransmitter(buffer).transmit(1, message)

    assert receive_all(receiver) == [(1, message)]


def test_a_message_longer_than_an_eighth_of_the_buffer_is_rejected():
    transmitter = BroadcastTransmitter(make_buffer())

    with pytest.raises(ConfigurationError, match="message of 129 bytes: must be from 0 to 128"):
        transmitter.transmit(1, bytes(129))


def test_a_type_below_one_is_rejected():
    with pytest.raises(ConfigurationError, match="type_id=0"):
        BroadcastTransmitter(make_buffer()).transmit(0, b"")


@pytest.mark.parametrize("make", [BroadcastTransmitter, BroadcastReceiver])
@pytest.mark.parametrize("length", [0, 128, 1000, 128 + 1000])
def test_a_buffer_that_is_not_a_power_of_two_plus_a_trailer_is_rejected(make, length):
    with pytest.raises(ConfigurationError, match="power of two"):
        make(AtomicBuffer.allocate(length))


def test_a_lapped_receiver_reports_it_and_continues_with_the_latest_message():
    buffer = make_buffer()
    receiver = BroadcastReceiver(buffer)
    transmitter = BroadcastTransmitter(buffer)
    for number in range(100):
        transmitter.transmit(number + 1, bytes(16))

    assert receiver.receive(lambda *_: pytest.fail("an overrun message was delivered")) == LAPPED

    assert receiver.lapped_count == 1
    assert receive_all(receiver) == [(100, bytes(16))]


def test_a_receiver_is_lapped_once_the_tail_intent_reaches_its_record():
    buffer = make_buffer()
    receiver = BroadcastReceiver(buffer)
    BroadcastTransmitter(buffer).transmit(1, b"x")
    buffer.put_i64(CAPACITY + wire.BROADCAST_TAIL_INTENT_OFFSET, CAPACITY)

    assert receiver.receive(lambda *_: None) == LAPPED


def test_a_receiver_is_not_lapped_by_a_transmitter_that_stops_before_its_record():
    buffer = make_buffer()
    receiver = BroadcastReceiver(buffer)
    BroadcastTransmitter(buffer).transmit(1, b"x")
    buffer.put_i64(CAPACITY + wire.BROADCAST_TAIL_INTENT_OFFSET, CAPACITY - 8)

    assert receiver.receive(lambda *_: None) == 1


def test_a_receiver_whose_padding_is_overwritten_is_lapped():
    buffer = make_buffer(position=CAPACITY - 32)
    receiver = BroadcastReceiver(buffer)
    BroadcastTransmitter(buffer).transmit(1, bytes(40))
    buffer.put_i64(CAPACITY + wire.BROADCAST_TAIL_INTENT_OFFSET, 2 * CAPACITY - 32)

    assert receiver.receive(lambda *_: None) == LAPPED


def test_a_message_whose_handler_raises_is_consumed():
    buffer = make_buffer()
    receiver = BroadcastReceiver(buffer)
    BroadcastTransmitter(buffer).transmit(1, b"x")

    with pytest.raises(ZeroDivisionError):
        receiver.receive(lambda *_: 1 // 0)

    assert receive_all(receiver) == []


@pytest.mark.parametrize("length", [-1, 0, 7, 1025, 2**31 - 1])
def test_an_impossible_record_raises_once_and_the_receiver_continues(length):
    buffer = make_buffer()
    receiver = BroadcastReceiver(buffer)
    transmitter = BroadcastTransmitter(buffer)
    transmitter.transmit(1, b"bad")
    buffer.put_i32(0, length)

    with pytest.raises(ProtocolError, match=f"record of {length} bytes at 0"):
        receiver.receive(lambda *_: None)

    transmitter.transmit(2, b"good")
    assert receive_all(receiver) == [(2, b"good")]


def test_a_receiver_that_writes_to_the_positions_does_not_move_the_transmitter():
    buffer = make_buffer()
    transmitter = BroadcastTransmitter(buffer)
    buffer.put_i64(CAPACITY + wire.BROADCAST_TAIL_OFFSET, 12345)

    transmitter.transmit(1, b"x")

    assert counters(buffer) == (16, 16, 0)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(min_size=64, max_size=64), st.lists(st.integers(-16, 96), min_size=3, max_size=3), st.integers()
)
def test_no_content_of_the_buffer_causes_a_read_outside_it_or_an_endless_loop(records, offsets, position):
    buffer = make_buffer(capacity=64)
    receiver = BroadcastReceiver(buffer)
    buffer.put_bytes(0, records)
    position = position % (1 << 62) & (-1 if position % 3 else ~7)
    for at, offset in zip((0, 8, 16), offsets, strict=True):
        buffer.put_i64(64 + at, position + offset)

    for _ in range(10):
        with contextlib.suppress(ProtocolError):
            receiver.receive(lambda type_id, scratch, at, length: scratch.get_bytes(at, length))


def test_retransmitted_responses_equal_the_bytes_of_a_real_driver(recorded_commands):
    answers = [answer for step in recorded_commands["steps"] for answer in step["responses"]]
    assert len(answers) > 20

    for answer in answers:
        buffer = make_buffer(capacity=1 << 20, position=answer["position"])
        BroadcastTransmitter(buffer).transmit(answer["type_id"], bytes.fromhex(answer["message_hex"]))

        record = buffer.get_bytes(answer["offset"], answer["aligned_length"])
        assert record.hex() == answer["record_hex"]


def test_the_broadcast_buffer_of_a_real_driver_is_received_as_recorded(recorded_cnc, cnc_section):
    buffer = cnc_section("to_clients")
    recorded = recorded_cnc["to_clients"]
    capacity = recorded["capacity"]
    expected = [(r["type_id"], bytes.fromhex(r["message_hex"])) for r in recorded["records"]]

    latest = receive_all(BroadcastReceiver(buffer))
    buffer.put_i64(capacity + wire.BROADCAST_LATEST_OFFSET, 0)
    everything = receive_all(BroadcastReceiver(buffer))

    assert everything == expected
    assert latest == [m for m, r in zip(expected, recorded["records"], strict=True) if r["position"] >= 2688]


def test_the_broadcast_buffer_of_a_real_driver_is_reproduced_byte_for_byte(recorded_cnc, cnc_section):
    recorded = cnc_section("to_clients")
    buffer = AtomicBuffer.allocate(recorded.capacity)
    transmitter = BroadcastTransmitter(buffer)

    for record in recorded_cnc["to_clients"]["records"]:
        transmitter.transmit(record["type_id"], bytes.fromhex(record["message_hex"]))

    assert buffer.get_bytes(0, buffer.capacity) == recorded.get_bytes(0, buffer.capacity)


def transmit_numbers(buffer, count, done):
    transmitter = BroadcastTransmitter(buffer)
    for number in range(count):
        transmitter.transmit(
            1 + number % 5, struct.pack("<i", number) + bytes([number % 251]) * (number % 60)
        )
    done.set()


def receive_numbers(receiver, done):
    """Check that received messages are intact and in order; return how many arrived."""
    last = -1
    received = 0

    def handler(type_id, scratch, at, length):
        nonlocal last, received
        number = scratch.get_i32(at)
        assert number > last
        assert type_id == 1 + number % 5
        assert scratch.get_bytes(at + 4, length - 4) == bytes([number % 251]) * (number % 60)
        last = number
        received += 1

    while True:
        finished = done.is_set()
        if receiver.receive(handler) == 0 and finished:
            return last, received, receiver.lapped_count


def test_a_receiver_in_another_thread_gets_whole_messages_in_order_or_reports_a_loss():
    buffer = make_buffer(capacity=4096)
    receiver = BroadcastReceiver(buffer)
    done = threading.Event()
    thread = threading.Thread(target=transmit_numbers, args=(buffer, 5000, done), daemon=True)
    thread.start()

    last, received, lapped_count = receive_numbers(receiver, done)

    assert last == 4999
    assert received == 5000 or lapped_count > 0


@pytest.mark.system
def test_a_receiver_in_another_process_gets_whole_messages_in_order_or_reports_a_loss(tmp_path):
    path = tmp_path / "broadcast"
    path.write_bytes(bytes(1024 + wire.BROADCAST_TRAILER_LENGTH))
    with path.open("r+b") as file:
        buffer = map_fd(file.fileno(), 1024 + wire.BROADCAST_TRAILER_LENGTH)
    context = multiprocessing.get_context("fork")
    receiver = BroadcastReceiver(buffer)
    done = context.Event()
    worker = context.Process(target=transmit_numbers, args=(buffer, 20000, done), daemon=True)
    worker.start()

    last, received, lapped_count = receive_numbers(receiver, done)

    worker.join(30)
    assert worker.exitcode == 0
    assert last == 19999
    assert received == 20000 or lapped_count > 0
