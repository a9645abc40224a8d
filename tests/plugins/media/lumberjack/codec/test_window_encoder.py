"""Encoding of windows."""

import itertools
import json
import random
import struct
import zlib

import plain_codec
import pytest
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.lumberjack._native import faults
from aeron_media.lumberjack.codec.encoder_params import EncoderParams
from aeron_media.lumberjack.codec.window_encoder import WindowEncoder
from aeron_media.lumberjack.fault_texts import describe_fault
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.buffer import AtomicBuffer

V2 = 0x32
LEVELS = range(10)


def new_encoder(budget=1 << 28, **params):
    return WindowEncoder(EncoderParams(**params), MemoryBudget(budget))


def add(encoder, payload):
    return encoder.add(AtomicBuffer(b"<" + payload + b">"), 1, len(payload))


def add_pieces(encoder, pieces):
    answer = encoder.begin_event(sum(map(len, pieces)))
    for piece in pieces:
        if answer == 1:
            answer = encoder.add_piece(AtomicBuffer(b"<" + piece + b">"), 1, len(piece))
    return encoder.end_event() if answer == 1 else answer


def sent(encoder):
    """Return and consume the bytes that are ready."""
    data = encoder.block.to_bytes()[: encoder.ready]
    encoder.consume(len(data))
    return data


def window_of(payloads):
    return [
        ("window", V2, len(payloads)),
        *[("event", V2, number, payload) for number, payload in enumerate(payloads, 1)],
    ]


def events(count, seed=1):
    chance = random.Random(seed)
    return [
        json.dumps({"n": n, "text": chance.randbytes(chance.randrange(150)).hex()}).encode()
        for n in range(count)
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("count", [1, 2, 50, 2048])
def test_a_window_can_be_parsed_back(new_reader, level, count):
    payloads = events(count)
    encoder = new_encoder(compression=level)

    for payload in payloads:
        assert add(encoder, payload) == 1
    length = encoder.finish()
    data = sent(encoder)

    assert length == len(data)
    assert plain_codec.read(data) == window_of(payloads)
    reader = new_reader()
    reader.feed(data)
    assert reader.calls == window_of(payloads)


def test_an_uncompressed_window_is_w_and_j_frames():
    encoder = new_encoder(compression=0)
    payloads = events(3)

    for payload in payloads:
        add(encoder, payload)
    encoder.finish()

    frames = [plain_codec.json_event(n, payload) for n, payload in enumerate(payloads, 1)]
    assert sent(encoder) == plain_codec.window(3) + b"".join(frames)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_a_compressed_window_is_w_and_one_c_frame_of_j_frames(level):
    encoder = new_encoder(compression=level)
    payloads = events(2000)

    for payload in payloads:
        add(encoder, payload)
    encoder.finish()
    data = sent(encoder)

    assert data[:8] == plain_codec.window(2000) + b"2C"
    assert struct.unpack_from(">I", data, 8) == (len(data) - 12,)
    frames = b"".join(plain_codec.json_event(n, payload) for n, payload in enumerate(payloads, 1))
    assert zlib.decompress(data[12:]) == frames
    assert len(data) < len(frames)


@pytest.mark.parametrize("level", [1, 3, 6, 9])
def test_incompressible_events_can_be_parsed_back(level):
    chance = random.Random(level)
    payloads = [b"{" + chance.randbytes(length) + b"}" for length in [0, 1, 100_000, 3, 70_000, 1_000_000]]
    encoder = new_encoder(compression=level)

    for payload in payloads:
        assert add(encoder, payload) == 1
    encoder.finish()

    assert plain_codec.read(sent(encoder)) == window_of(payloads)


@pytest.mark.parametrize("level", [0, 3])
def test_finished_windows_queue_while_the_next_is_built(level):
    encoder = new_encoder(compression=level)
    first, second, third = events(10, seed=1), events(20, seed=2), events(700, seed=3)

    for payloads in (first, second):
        for payload in payloads:
            add(encoder, payload)
        encoder.finish()
    assert plain_codec.read(encoder.block.to_bytes()[: encoder.ready]) == window_of(first) + window_of(second)

    data = b""
    for payload in third:
        add(encoder, payload)
        # The socket accepts a little now and then.
        taken = min(7, encoder.ready)
        data += encoder.block.to_bytes()[:taken]
        encoder.consume(taken)
    encoder.finish()

    assert plain_codec.read(data + sent(encoder)) == window_of(first) + window_of(second) + window_of(third)


@pytest.mark.parametrize("level", [0, 3])
def test_a_window_without_events_is_not_sent(level):
    encoder = new_encoder(compression=level)
    assert encoder.finish() == 0

    assert encoder.begin() == 1
    assert encoder.finish() == 0
    assert (encoder.ready, encoder.block.size, encoder.is_open) == (0, 0, False)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("is_wrapping", [False, True])
@given(cuts=st.lists(st.integers(0, 130), max_size=6))
def test_an_event_can_be_added_in_pieces(level, is_wrapping, cuts):
    payload = b' \n{"a":"' + "ä€😀\n".encode() * 8 + b'"} '
    bounds = [0, *sorted(min(cut, len(payload)) for cut in cuts), len(payload)]
    pieces = [payload[begin:end] for begin, end in itertools.pairwise(bounds)]
    whole = new_encoder(compression=level, is_wrapping=is_wrapping)
    encoder = new_encoder(compression=level, is_wrapping=is_wrapping)

    for _ in range(3):
        assert add(whole, payload) == 1
        assert add_pieces(encoder, pieces) == 1
    whole.finish()
    encoder.finish()

    assert plain_codec.read(sent(encoder)) == plain_codec.read(sent(whole))


@given(st.lists(st.one_of(st.binary(max_size=300), st.text().map(str.encode)), min_size=1))
def test_any_bytes_are_wrapped_as_a_json_object(payloads):
    encoder = new_encoder(is_wrapping=True)

    for payload in payloads:
        assert add(encoder, payload) == 1
    encoder.finish()
    _, *found = plain_codec.read(sent(encoder))

    assert [event[3] for event in found] == [
        plain_codec.json_object([(b"message", payload)]) for payload in payloads
    ]


@pytest.mark.parametrize("payload", [b"{}", b' {"a":1}', b'{"a":1}\r\n\t ', b"\n{\n}\n"])
def test_a_json_object_can_be_surrounded_by_white_space(payload):
    encoder = new_encoder()

    assert add(encoder, payload) == 1
    encoder.finish()
    assert plain_codec.read(sent(encoder)) == window_of([payload])


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    "payload", [b"", b" ", b"[]", b"7", b"{", b"}", b'{"a":1},', b"text", b"\0{}", b"{}\0"]
)
def test_a_payload_that_is_no_json_object_is_refused_without_changing_the_window(level, payload):
    encoder = new_encoder(compression=level)
    add(encoder, b'{"a":1}')

    for refused in (add(encoder, payload), add_pieces(encoder, [bytes([value]) for value in payload])):
        assert refused == encoder.fault == faults.NO_JSON_OBJECT
        assert describe_fault(encoder.fault, encoder.fault_value, encoder.fault_limit) == (
            "message that is not a JSON object: wrap=true wraps any message in one",
            f"message of length {len(payload)}",
        )
    add(encoder, b'{"b":2}')
    encoder.finish()

    assert plain_codec.read(sent(encoder)) == window_of([b'{"a":1}', b'{"b":2}'])


@pytest.mark.parametrize("is_wrapping", [False, True])
@pytest.mark.parametrize("level", [0, 3])
def test_an_event_that_is_too_long_is_refused_without_changing_the_window(level, is_wrapping):
    encoder = new_encoder(compression=level, is_wrapping=is_wrapping, max_event_length=100)
    add(encoder, b"{}")
    long_event = b"{" + bytes(99 if is_wrapping else 100) + b"}"

    for refused in (add(encoder, long_event), add_pieces(encoder, [long_event])):
        assert refused == encoder.fault == faults.EVENT_TOO_LONG
        text, _ = describe_fault(encoder.fault, encoder.fault_value, encoder.fault_limit)
        assert "at most 100 bytes; max-event=" in text
    add(encoder, b"{}")
    encoder.finish()

    assert len(plain_codec.read(sent(encoder))) == 3


@pytest.mark.parametrize("is_wrapping", [False, True])
@pytest.mark.parametrize("level", [0, 3])
def test_pieces_that_exceed_the_maximum_event_are_refused(level, is_wrapping):
    encoder = new_encoder(compression=level, is_wrapping=is_wrapping, max_event_length=10_000)
    add(encoder, b"{}")
    piece = b"{" + bytes(3000) + b"}"

    assert encoder.begin_event(10) == 1
    answers = [encoder.add_piece(AtomicBuffer(piece), 0, len(piece)) for _ in range(4)]
    last = encoder.end_event() if min(answers) == 1 else min(answers)
    encoder.finish()

    assert last == faults.EVENT_TOO_LONG
    assert len(plain_codec.read(sent(encoder))) == 2


@pytest.mark.parametrize("is_wrapping", [False, True])
@pytest.mark.parametrize("level", [0, 3])
def test_an_unfinished_event_is_dropped_when_the_next_begins(level, is_wrapping):
    encoder = new_encoder(compression=level, is_wrapping=is_wrapping)

    encoder.begin_event(100)
    encoder.add_piece(AtomicBuffer(b'{"a'), 0, 3)
    add_pieces(encoder, [b"{", b"}"])
    with pytest.raises(IndexError):
        encoder.add(AtomicBuffer(b"{}"), 1, 2)
    add(encoder, b"{}")
    encoder.finish()

    payload = b'{"message":"{}"}' if is_wrapping else b"{}"
    assert plain_codec.read(sent(encoder)) == window_of([payload, payload])


@pytest.mark.parametrize("is_wrapping", [False, True])
def test_a_full_window_takes_no_more_events(is_wrapping):
    encoder = new_encoder(max_window_length=1000, is_wrapping=is_wrapping)
    payload = b'{"a":"' + bytes(60).hex().encode() + b'"}'
    count = 0

    while (answer := add(encoder, payload)) == 1:
        count += 1
    assert answer == encoder.fault == 0
    assert add_pieces(encoder, [payload]) == 0
    assert count == encoder.count == 1000 // (len(payload) + (10 if not is_wrapping else 28))
    encoder.finish()
    assert (encoder.end_event() if is_wrapping else add(encoder, payload)) == 1
    encoder.finish()

    assert len(plain_codec.read(sent(encoder))) == count + 1 + 2


def test_an_event_longer_than_a_window_gets_its_own():
    encoder = new_encoder(max_window_length=1000)
    long_event = b"{" + bytes(5000) + b"}"

    assert add(encoder, long_event) == 1
    assert add(encoder, b"{}") == 0
    encoder.finish()

    assert plain_codec.read(sent(encoder)) == window_of([long_event])


@pytest.mark.parametrize("level", [0, 3])
def test_an_unfinished_event_is_not_sent(level):
    encoder = new_encoder(compression=level)
    add(encoder, b'{"a":1}')
    encoder.begin_event(100)
    encoder.add_piece(AtomicBuffer(b'{"b'), 0, 3)

    encoder.finish()

    assert plain_codec.read(sent(encoder)) == window_of([b'{"a":1}'])


@pytest.mark.parametrize("level", [0, 3, 9])
def test_all_memory_is_freed_when_nothing_is_to_be_sent(level):
    budget = MemoryBudget(1 << 24)
    encoder = WindowEncoder(EncoderParams(compression=level), budget)
    for payload in events(2000):
        add(encoder, payload)
    assert encoder.release() == 0

    encoder.finish()
    assert encoder.release() == 0
    sent(encoder)

    assert encoder.release() == 1
    assert budget.used == 0
    add(encoder, b"{}")
    encoder.finish()
    assert plain_codec.read(sent(encoder)) == window_of([b"{}"])


@pytest.mark.parametrize("level", [0, 3])
def test_a_reset_drops_everything(level):
    budget = MemoryBudget(1 << 24)
    encoder = WindowEncoder(EncoderParams(compression=level), budget)
    for payload in events(500):
        add(encoder, payload)
    encoder.finish()
    for payload in events(500):
        add(encoder, payload)

    assert encoder.reset() == 1

    assert (encoder.ready, encoder.count, encoder.block.size, budget.used) == (0, 0, 0, 0)
    add(encoder, b"{}")
    encoder.finish()
    assert plain_codec.read(sent(encoder)) == window_of([b"{}"])


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("limit", [0, 1000, 5000, 400_000, 700_000, 1_200_000])
def test_an_exhausted_budget_never_corrupts_sent_data(level, limit):
    budget = MemoryBudget(limit)
    encoder = WindowEncoder(EncoderParams(compression=level, is_wrapping=level == 0), budget)
    payload = b"{" + random.Random(3).randbytes(3000) + b"}"
    calls = []

    for _ in range(1000):
        answer = add(encoder, payload)
        assert answer in {1, 0, faults.BUDGET_SPENT}
        assert budget.used <= limit
        if answer != 1:
            encoder.finish()
            calls += plain_codec.read(sent(encoder))
            if answer < 0:
                break
    encoder.finish()
    calls += plain_codec.read(sent(encoder))

    assert all(call[0] == "window" or len(call[3]) >= len(payload) for call in calls)


@pytest.mark.parametrize(("params", "message"), [
    ({"compression": 10}, "compression=10: must be from 0 to 9"),
    ({"compression": -1}, "compression=-1: must be from 0 to 9"),
    ({"max_window_length": 0}, "max_window_length=0: must be from 1 to"),
    ({"max_event_length": 1}, "max_event_length=1: must be from 2 to"),
])  # fmt: skip
def test_params_out_of_range_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        EncoderParams(**params)


def test_bytes_outside_of_the_payload_are_refused():
    encoder = new_encoder()

    with pytest.raises(IndexError):
        encoder.add(AtomicBuffer(b"{}"), 1, 2)
    encoder.finish()
    assert encoder.ready == 0
