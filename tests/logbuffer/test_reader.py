from itertools import dropwhile, pairwise

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.reader import TermReader

FOREVER = 2**63 - 1
BEGIN, MIDDLE, END = wire.DATA_FLAG_BEGIN, 0, wire.DATA_FLAG_END
PAD = wire.TYPE_PAD


@pytest.fixture
def log(make_log):
    return make_log()


def put_all(put_frame, log, frames, position=0):
    for payload, changes in frames:
        position = put_frame(log, position, payload, **changes)
    return position


def messages_of(batch):
    bounds = [batch.boundaries.get_i64(8 * number) for number in range(batch.count + 1)]
    return [batch.data.get_bytes(begin, end - begin) for begin, end in pairwise(bounds)]


# next_frame


def test_next_frame_skips_padding_and_continues_in_the_next_term(log, put_frame):
    start = 65536 - 128
    position = put_frame(log, start, b"first")
    position = put_frame(log, position, length=64, type=PAD)
    put_frame(log, position, b"second")
    reader = TermReader(log)

    assert reader.next_frame(start, FOREVER) == start
    assert (reader.frame_length, reader.position) == (37, start + 64)
    assert reader.next_frame(reader.position, FOREVER) == 65536
    assert (reader.frame_length, reader.position) == (38, 65536 + 64)
    assert reader.next_frame(reader.position, FOREVER) == -1
    assert reader.position == 65536 + 64


def test_padding_alone_is_skipped(log, put_frame):
    put_frame(log, 0, length=96, type=PAD)
    reader = TermReader(log)

    assert reader.next_frame(0, FOREVER) == -1
    assert reader.position == 96


def test_a_frame_that_starts_at_the_limit_is_not_read(log, put_frame):
    put_frame(log, put_frame(log, 0, b"below"), b"at the limit")
    reader = TermReader(log)

    assert reader.next_frame(0, 64) == 0
    assert reader.next_frame(64, 64) == -1
    assert reader.next_frame(64, 65) == 64


def test_a_frame_that_is_being_written_is_not_read(log):
    log.buffer.put_i32(0, -64)

    assert TermReader(log).next_frame(0, FOREVER) == -1


@pytest.mark.parametrize("length", [1, 31, 97, 65536, 2**31 - 1])
@pytest.mark.parametrize("read", ["next_frame", "read_batch", "scan_block"])
def test_an_impossible_frame_length_raises(log, length, read):
    log.buffer.put_i32(65536 - 96, length)
    reader = TermReader(log)
    arguments = {
        "next_frame": (FOREVER,),
        "read_batch": (FOREVER, 10, BatchBuffer(10, 100)),
        "scan_block": (65536,),
    }[read]

    with pytest.raises(
        ProtocolError, match=f"frame length={length} at offset 65440 .* to 96 bytes, which are left"
    ):
        getattr(reader, read)(65536 - 96, *arguments)


# scan_block


def test_block_is_whole_frames_up_to_its_limit(log, put_frame):
    put_all(put_frame, log, [(bytes(100), {}), (bytes(100), {}), (bytes(100), {})])
    reader = TermReader(log)

    assert reader.scan_block(0, 479) == 320
    assert reader.position == 320
    assert reader.scan_block(0, 480) == 480
    assert reader.scan_block(0, 65536) == 480
    assert reader.scan_block(0, 100) == 0
    assert reader.scan_block(480, 65536) == 0


def test_block_ends_before_padding_which_is_a_block_of_its_own(log, put_frame):
    put_all(put_frame, log, [(b"", {}), (b"", {"length": 4096, "type": PAD}), (b"", {})])
    reader = TermReader(log)

    assert [reader.scan_block(at, 1000) for at in (0, 32, 32 + 4096)] == [32, 4096, 32]


def test_block_ends_with_its_term(log, put_frame):
    put_all(put_frame, log, [(b"", {}), (b"", {})], position=65536 - 32)

    assert TermReader(log).scan_block(65536 - 32, 65536) == 32


# read_batch


def test_batch_has_every_message_with_its_position_session_and_reserved_value(log, put_frame):
    end = put_all(
        put_frame, log, [(b"one", {"reserved_value": 5}), (b"", {}), (b"three", {"reserved_value": -6})]
    )
    reader, batch = TermReader(log), BatchBuffer(10, 100)

    assert reader.read_batch(0, FOREVER, 10, batch) == 3

    assert reader.position == end
    assert messages_of(batch) == [b"one", b"", b"three"]
    assert [batch.positions.get_i64(at) for at in (0, 8, 16)] == [64, 96, 160]
    assert [batch.reserved_values.get_i64(at) for at in (0, 8, 16)] == [5, 0, -6]
    assert [batch.session_ids.get_i32(at) for at in (0, 4, 8)] == [11] * 3


def test_messages_are_appended_to_the_batch(log, put_frame):
    end = put_all(put_frame, log, [(b"one", {}), (b"two", {})])
    reader, batch = TermReader(log), BatchBuffer(10, 100)

    assert reader.read_batch(0, FOREVER, 1, batch) == 1
    assert reader.read_batch(reader.position, FOREVER, 10, batch) == 1

    assert messages_of(batch) == [b"one", b"two"]
    assert reader.position == end


def test_a_full_batch_gets_no_message(log, put_frame):
    put_all(put_frame, log, [(b"one", {}), (b"two", {})])
    reader, batch = TermReader(log), BatchBuffer(1, 100)

    assert reader.read_batch(0, FOREVER, 10, batch) == 1
    assert reader.read_batch(reader.position, FOREVER, 10, batch) == 0

    assert (reader.position, reader.required_length) == (64, 0)


@pytest.mark.parametrize("fragmented", [False, True])
def test_the_length_of_a_message_that_does_not_fit_is_returned(log, put_frame, fragmented):
    position = put_frame(log, 0, b"fits")
    if fragmented:
        put_all(put_frame, log, [(bytes(50), {"flags": BEGIN}), (bytes(14), {"flags": END})], position)
    else:
        put_frame(log, position, bytes(64))
    reader, batch = TermReader(log), BatchBuffer(10, 64)

    assert reader.read_batch(0, FOREVER, 10, batch) == 1
    assert (reader.position, reader.required_length) == (64, 64)

    batch.clear()
    assert reader.read_batch(reader.position, FOREVER, 10, batch) == 1
    assert (messages_of(batch), reader.required_length) == ([bytes(64)], 0)


def test_limit_ends_the_batch(log, put_frame):
    put_all(put_frame, log, [(b"one", {}), (b"two", {}), (b"three", {})])
    reader, batch = TermReader(log), BatchBuffer(10, 100)

    assert reader.read_batch(0, 65, 10, batch) == 2
    assert reader.position == 128


def test_fragments_become_one_message(log, put_frame):
    fragments = [
        (b"be", {"flags": BEGIN, "reserved_value": 1}),
        (b"gin", {"flags": MIDDLE}),
        (b"!", {"flags": END}),
    ]
    end = put_all(put_frame, log, [(b"before", {}), *fragments, (b"behind", {})])
    reader, batch = TermReader(log), BatchBuffer(10, 100)

    assert reader.read_batch(0, FOREVER, 10, batch) == 3

    assert messages_of(batch) == [b"before", b"begin!", b"behind"]
    assert (reader.position, reader.dropped) == (end, 0)
    assert batch.reserved_values.get_i64(8) == 1
    assert batch.positions.get_i64(8) == 4 * 64


def test_fragments_without_payload_are_a_message_too(log, put_frame):
    end = put_all(put_frame, log, [(b"", {"flags": BEGIN}), (b"x", {"flags": 0}), (b"", {"flags": END})])
    reader, batch = TermReader(log), BatchBuffer(10, 100)

    assert reader.read_batch(0, FOREVER, 10, batch) == 1
    assert (messages_of(batch), reader.position) == ([b"x"], end)


def test_an_incomplete_message_is_consumed_fragment_by_fragment(log, put_frame):
    reader, batch = TermReader(log), BatchBuffer(10, 100)
    taken, position = [], 0
    for payload, flags in [(b"be", BEGIN), (b"gin", MIDDLE), (b"ning", MIDDLE), (b"!", END)]:
        position = put_frame(log, position, payload, flags=flags, reserved_value=len(taken))
        taken.append(reader.read_batch(reader.position, FOREVER, 10, batch))
        # Fragments count as consumed, so that a message may be longer than one window.
        assert reader.position == position

    assert taken == [0, 0, 0, 1]
    assert messages_of(batch) == [b"beginning!"]
    assert batch.reserved_values.get_i64(0) == 0
    assert batch.positions.get_i64(0) == position


def test_an_assembled_message_that_does_not_fit_waits_at_its_last_fragment(log, put_frame):
    reader, batch = TermReader(log), BatchBuffer(10, 4)
    put_frame(log, 0, b"begin", flags=BEGIN)
    reader.read_batch(0, FOREVER, 10, batch)
    put_frame(log, 64, b"end", flags=END)

    assert reader.read_batch(64, FOREVER, 10, batch) == 0
    assert (reader.position, reader.required_length) == (64, 8)

    larger = BatchBuffer(10, 8)
    assert reader.read_batch(64, FOREVER, 10, larger) == 1
    assert messages_of(larger) == [b"beginend"]


@pytest.mark.parametrize(
    ("frames", "kept", "dropped"),
    [
        ([(b"x", MIDDLE), (b"y", END), (b"whole", BEGIN | END)], [b"whole"], 2),
        ([(b"x", BEGIN), (b"whole", BEGIN | END), (b"y", END)], [b"whole"], 2),
        ([(b"x", BEGIN), (b"be", BEGIN), (b"gun", END)], [b"begun"], 1),
        ([(b"x", BEGIN), (b"y", MIDDLE), (None, 0), (b"z", END), (b"whole", BEGIN | END)], [b"whole"], 3),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_messages_with_missing_fragments_are_dropped(log, put_frame, frames, kept, dropped, at_once):
    reader, batch, position = TermReader(log), BatchBuffer(10, 100), 0
    for payload, flags in frames:
        if payload is None:  # a gap that the receiver filled with padding
            position = put_frame(log, position, length=64, type=PAD)
        else:
            position = put_frame(log, position, payload, flags=flags)
        if not at_once:
            reader.read_batch(reader.position, FOREVER, 10, batch)

    reader.read_batch(reader.position, FOREVER, 10, batch)

    assert messages_of(batch) == kept
    assert (reader.position, reader.dropped) == (position, dropped)


def test_reading_at_another_position_drops_the_incomplete_message(log, put_frame):
    reader, batch = TermReader(log), BatchBuffer(10, 100)
    put_frame(log, 0, b"begin", flags=BEGIN)
    reader.read_batch(0, FOREVER, 10, batch)
    put_all(put_frame, log, [(b"end", {"flags": END}), (b"whole", {})], position=64)

    reader.read_batch(128, FOREVER, 10, batch)

    assert messages_of(batch) == [b"whole"]
    assert reader.dropped == 1


def test_an_endless_message_is_dropped_at_the_maximum_length(log, put_frame):
    reader, batch, position = TermReader(log), BatchBuffer(10, 65536), 0
    for number in range(20):
        position = put_frame(log, position, bytes(1376), flags=BEGIN if number == 0 else MIDDLE)
    end = put_all(put_frame, log, [(b"x", {"flags": END}), (b"whole", {})], position)

    assert reader.read_batch(0, FOREVER, 10, batch) == 1

    assert messages_of(batch) == [b"whole"]
    assert (reader.position, reader.dropped) == (end, 21)


def test_the_log_of_a_real_driver_is_read_completely(captured):
    log = LogBuffer(AtomicBuffer(captured.data))
    for term in captured.described["terms"]:
        count = term["partition"]
        start = count * 65536 + term["first_whole_frame_offset"]
        end = count * 65536 + term["frames_end_offset"]
        data = [frame for frame in term["frames"] if frame["type"] == "DATA"]
        reader, batch = TermReader(log), BatchBuffer(100, 65536)
        found, position = [], start

        while (offset := reader.next_frame(position, end)) >= 0:
            found.append((offset - count * 65536, reader.frame_length))
            position = reader.position
        messages = reader.read_batch(start, end, 100, batch)

        assert found == [(frame["offset"], frame["frame_length"]) for frame in data]
        # Cleaning the log has left the last fragments of a message without its first.
        sound = list(dropwhile(lambda frame: "BEGIN" not in frame["flag_names"], data))
        assert messages == sum("END" in frame["flag_names"] for frame in sound)
        assert reader.dropped == len(data) - len(sound)
        assert reader.position == end
