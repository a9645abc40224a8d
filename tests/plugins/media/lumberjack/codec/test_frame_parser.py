"""Parsing of windows and events."""

import random
import zlib

import plain_codec
import pytest
from aeron_media.lumberjack._native import end_reasons, faults
from aeron_media.lumberjack.codec.frame_limits import FrameLimits
from aeron_media.lumberjack.fault_texts import describe_fault
from hypothesis import given
from hypothesis import strategies as st
from plain_codec import compressed, data_event, envelope, json_event, window

from aeron_core._native.buffer import AtomicBuffer

J1 = json_event(1, b'{"a":1}')
J2 = json_event(2, b'{"b":"c"}')
J3 = json_event(3, b"[]")
D1 = data_event(1, [(b"line", b'a "b"\n'), (b"line", b""), (b"", b"\xff\xe2\x82\xac")])
D2 = data_event(2, [])

#: Input as sent by writers, and by the probes that were sent to other readers.
STREAMS = {
    "plain": window(2) + J1 + J2,
    "compressed": window(2) + compressed(J1 + J2),
    "a window within C": compressed(window(2) + J1 + J2),
    "two C in a window": window(4) + compressed(J1 + J2) + compressed(J3 + J1),
    "J and C mixed": window(3) + J1 + compressed(J2 + J3),
    "a window in the middle of C": compressed(J1 + window(1) + J2) + J3,
    "W0": window(0) + window(0) + window(1) + J1,
    "no window": J1,
    "more than the window": window(1) + J1 + J2 + J3,
    "sequences that wrap": window(3) + b"".join(json_event(n, b"{}") for n in (2**32 - 2, 2**32 - 1, 0)),
    "sequences that go back": window(3) + b"".join(json_event(n, b"{}") for n in (100, 3, 3)),
    "version 1": window(2, b"1") + D1 + D2,
    "version 1 compressed": window(2, b"1") + compressed(D1 + D2, b"1"),
    "1J and 2D": json_event(1, b"{}", b"1") + data_event(2, [(b"a", b"b")], b"2"),
    "both versions": window(1) + J1 + window(1, b"1") + D1 + compressed(D2 + J2, b"1"),
    "an empty C": envelope(b"") + compressed(b"") + J1,
    "stored": window(2) + compressed(J1 + D1, level=0),
    "the largest window": window(2**32 - 1) + J1,
    "not JSON": json_event(1, b"\xff\x00"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_result_does_not_depend_on_where_input_is_split(new_reader, name):
    stream = STREAMS[name]
    expected = plain_codec.read(stream)

    for at in range(len(stream) + 1):
        reader = new_reader()
        reader.feed_pieces([stream[:at], stream[at:]])
        assert (reader.calls, reader.fault, reader.rest) == (expected, faults.NO_FAULT, b"")
        assert reader.parser.is_between_frames
        assert reader.budget.used == 0


@pytest.mark.parametrize("name", STREAMS)
def test_input_can_arrive_byte_by_byte(new_reader, name):
    reader = new_reader()

    reader.feed_pieces(bytes([byte]) for byte in STREAMS[name])

    assert reader.calls == plain_codec.read(STREAMS[name])


@pytest.mark.parametrize("name", STREAMS)
def test_a_blocked_sink_is_offered_the_same_item_again(new_reader, name):
    stream = STREAMS[name]
    expected = plain_codec.read(stream)
    reader = new_reader()
    reader.space = 0

    reader.feed(stream)
    for taken in range(len(expected)):
        assert reader.parser.is_blocked
        assert not reader.parser.is_between_frames
        reader.feed(b"")
        assert len(reader.calls) == taken
        reader.space = 1
        reader.feed(b"")

    assert not reader.parser.is_blocked
    assert (reader.calls, reader.rest) == (expected, b"")


def test_inflated_events_continue_without_new_input(new_reader):
    reader = new_reader()
    reader.space = 1
    stream = compressed(J1 + J2 + J3)

    reader.feed(stream)
    assert reader.parser.is_blocked
    reader.rest = b"" if not reader.rest else reader.rest
    reader.space = None
    reader.feed(b"")

    assert reader.calls == plain_codec.read(stream)


@pytest.mark.parametrize(
    ("stream", "wanted"),
    [
        (b"", 6),
        (b"2", 6),
        (b"2W\0", 6),
        (b"2C\0\0\0", 6),
        (b"2J", 10),
        (b"2J" + bytes(7), 10),
        (json_event(1, bytes(300))[:11], 310),
        (b"1D" + bytes(4), 10),
        (data_event(1, [(b"key", b"value")] * 2)[:10], 26),
        (data_event(1, [(b"key", b"value")] * 2)[:14], 29),
        (data_event(1, [(b"key", b"value")] * 2)[:21], 34),
        (compressed(J1)[:6], 1),
    ],
)
def test_the_minimum_number_of_missing_bytes_is_reported(new_reader, stream, wanted):
    reader = new_reader()

    done = reader.feed(stream)

    assert reader.parser.wanted == wanted
    assert done == (6 if stream[1:2] == b"C" and len(stream) >= 6 else 0)


def test_the_content_of_a_c_frame_is_parsed_as_it_arrives(new_reader):
    stream = compressed(b"".join(json_event(n, random.Random(n).randbytes(200)) for n in range(100)))
    reader = new_reader()

    for at in range(0, len(stream), 100):
        reader.feed(stream[at : at + 100])
        assert len(reader.rest) < 6

    assert len(reader.calls) == 100


def test_a_d_frame_is_scanned_once_however_it_is_split(new_reader):
    frame = data_event(1, [(b"key%d" % n, b"value") for n in range(1000)])
    reader = new_reader()

    reader.feed_pieces(frame[at : at + 1] for at in range(len(frame)))

    assert reader.calls == plain_codec.read(frame)


@pytest.mark.parametrize("junk", [b"\0", b"1234567", bytes(100_000), b"2W\0\0\0\1", zlib.compress(J3)])
def test_junk_after_a_zlib_stream_is_skipped_and_counted(new_reader, junk):
    stream = envelope(zlib.compress(J1) + junk) + J2

    for at in {0, 1, 7, len(stream) - len(J2) - len(junk), len(stream) - len(J2) - 1, len(stream)}:
        reader = new_reader()
        reader.feed_pieces([stream[:at], stream[at:]])
        assert reader.calls == plain_codec.read(J1 + J2)
        assert reader.parser.junk_length == len(junk)


def test_inflated_bytes_are_counted(new_reader):
    reader = new_reader()

    reader.feed(compressed(J1 + J2) + J3 + compressed(J3))

    assert reader.parser.inflated_length == len(J1 + J2 + J3)


def test_nested_c_frames_are_parsed_up_to_the_limit(new_reader):
    stream = compressed(J1 + compressed(J2 + compressed(window(1)) + compressed(D1)) + J3)
    expected = plain_codec.read(stream)

    for at in range(len(stream)):
        reader = new_reader(max_nesting=3)
        reader.feed_pieces([stream[:at], stream[at:]])
        assert (reader.calls, reader.rest) == (expected, b"")
        assert reader.budget.used == 0


def test_a_blocked_sink_suspends_nested_c_frames(new_reader):
    stream = compressed(J1 + compressed(J2 + compressed(window(1)) + compressed(D1)) + J3)
    reader = new_reader(max_nesting=3)
    reader.space = 0

    reader.feed(stream)
    for _ in range(5):
        reader.space = 1
        reader.feed(b"")

    assert reader.calls == plain_codec.read(stream)


CUT = compressed(J1 + J2)[6:]
FAULTS = [
    (b"3W\0\0\0\1", {}, faults.WRONG_VERSION, "wrong version: must be 0x31 ('1') or 0x32 ('2')", "version 0x33"),
    (b"GET / HTTP/1.1", {}, faults.WRONG_VERSION, "wrong version: ", "version 0x47"),
    (b"2Z", {}, faults.WRONG_TYPE, "frame of a type that", "frame type 0x5a"),
    (plain_codec.ack(1), {}, faults.WRONG_TYPE, "frame of a type that", "frame type 0x41"),
    (json_event(1, b""), {}, faults.EMPTY_EVENT, "J frame of length 0: ", ""),
    (json_event(1, bytes(101))[:10], {"max_event_length": 100},
     faults.EVENT_TOO_LONG, "event is too long: at most 100 bytes; max-event=", "event of 101 bytes"),
    (b"2J\0\0\0\1\xff\xff\xff\xf0", {},
     faults.EVENT_TOO_LONG, "event is too long: ", "event of 4294967280 bytes"),
    (json_event(1, bytes(101))[:10], {"max_frame_length": 100},
     faults.FRAME_TOO_LONG, "frame is too long: at most 100 bytes; max-frame=", "frame of 111 bytes or more"),
    (data_event(1, [(b"a", bytes(101))])[:19], {"max_frame_length": 100},
     faults.FRAME_TOO_LONG, "frame is too long: ", "frame of 120 bytes or more"),
    (b"1D\0\0\0\1\xff\xff\xff\xff", {"max_pairs": 2**32 - 1},
     faults.FRAME_TOO_LONG, "frame is too long: ", "frame of 34359738370 bytes or more"),
    (b"1D\0\0\0\1\0\0\0\1\xff\xff\xff\xff", {},
     faults.FRAME_TOO_LONG, "frame is too long: ", "frame of 4294967313 bytes or more"),
    (data_event(1, [(b"a", b"\0" * 20)]), {"max_event_length": 100},
     faults.EVENT_TOO_LONG, "event is too long: ", "event of 128 bytes"),
    (data_event(1, [(b"", b"")] * 3)[:10], {"max_pairs": 2},
     faults.TOO_MANY_PAIRS, "D frame of too many pairs: at most 2; max-pairs=", "D frame of 3 pairs"),
    (b"2C\xff\xff\xff\xf0", {},
     faults.COMPRESSED_TOO_LONG, "C frame is too long: at most 16777216 bytes; max-compressed=",
     "C frame of 4294967280 bytes"),
    (compressed(compressed(J1)), {},
     faults.NESTED_TOO_DEEP, "C frames are nested too deep: at most 1; max-nesting=",
     "C frame within C frames, 2 deep"),
    (compressed(J1), {"max_nesting": 0},
     faults.NESTED_TOO_DEEP, "C frames are nested too deep: at most 0; ", "C frame within C frames, 1 deep"),
    (envelope(bytes(20)), {},
     faults.BROKEN_COMPRESSION, "C frame with a payload that is not a zlib stream", "found at"),
    (envelope(zlib.compress(J1)[2:-4]), {}, faults.BROKEN_COMPRESSION, "C frame with", "found at"),
    (envelope(zlib.compress(J1, wbits=31)), {}, faults.BROKEN_COMPRESSION, "C frame with", "found at"),
    (envelope(CUT[:-1] + bytes([CUT[-1] ^ 1])), {}, faults.BROKEN_COMPRESSION, "C frame with", "found at"),
    (envelope(CUT[:-1]), {},
     faults.CUT_COMPRESSION, "C frame that ends before its zlib stream does: ", "ends at offset 38"),
    (envelope(CUT[:1]), {},
     faults.CUT_COMPRESSION, "C frame that ends before its zlib stream does: ", "ends at offset 1"),
    (compressed(J1 + J2[:-1]), {},
     faults.CUT_FRAME, "C frame that ends within another frame: ", "ends at offset 18 of the other frame"),
    (compressed(b"2"), {},
     faults.CUT_FRAME, "C frame that ends within another frame: ", "ends at offset 1 of the other frame"),
    (compressed(compressed(J1)[:-1]), {"max_nesting": 2},
     faults.CUT_FRAME, "C frame that ends within another frame", "ends at offset"),
    (compressed(b"3"), {}, faults.WRONG_VERSION, "wrong version: ", "version 0x33"),
    (compressed(json_event(1, bytes(1001))), {"max_inflated_length": 1000},
     faults.INFLATED_TOO_LONG, "C frame inflates to too many bytes: at most 1000; max-inflated=",
     "C frame inflates to 1001 bytes or more"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stream", "limits", "fault", "text", "detail"),
    FAULTS,
    ids=[f"{number}-{row[3][:40]}" for number, row in enumerate(FAULTS)],
)
def test_malformed_input_is_a_fault_wherever_it_is_split(new_reader, stream, limits, fault, text, detail):
    for at in {0, 1, 2, 6, 7, 10, 11, len(stream) - 1, len(stream)}:
        reader = new_reader(**limits)
        reader.feed_pieces([stream[:at], stream[at:]])
        assert reader.fault == fault
        found, found_detail = reader.text
        assert found.startswith(text)
        assert found_detail.startswith(detail)


def test_events_before_a_fault_are_delivered(new_reader):
    reader = new_reader()

    reader.feed(window(2) + J1 + J2 + b"3W\0\0\0\1")

    assert reader.calls == plain_codec.read(window(2) + J1 + J2)
    assert reader.feed(J1) == 0


@pytest.mark.parametrize("stream", [J1, D1, window(7), compressed(J1)])
def test_a_fault_of_the_sink_stops_the_parser(new_reader, stream):
    reader = new_reader()
    reader.answer = faults.WINDOW_TOO_LARGE

    reader.feed(stream)

    assert reader.fault == faults.WINDOW_TOO_LARGE
    assert reader.parser.fault_value == (7 if stream[1:2] == b"W" else 1)


@pytest.mark.parametrize("stream", [J1, D1, window(7), compressed(J1)])
def test_an_exception_of_the_sink_reaches_the_caller(new_reader, stream):
    reader = new_reader()
    reader.answer = "nonsense"

    with pytest.raises(TypeError):
        reader.feed(stream)


def test_bytes_outside_of_the_buffer_are_refused(new_reader):
    with pytest.raises(IndexError):
        new_reader().parser.parse(AtomicBuffer(b"2W"), 1, 2)


def test_every_fault_has_a_message():
    reasons = [value for name, value in vars(faults).items() if name.isupper()]

    assert len({describe_fault(reason, 3, 2)[0] for reason in reasons}) == len(reasons)


@pytest.mark.parametrize("codes", [faults, end_reasons])
def test_the_message_of_a_fault_is_the_same_for_all_values_of_peers(codes):
    reasons = [value for name, value in vars(codes).items() if name.isupper() and name != "IDLE"]

    for reason in reasons:
        assert describe_fault(reason, 3, 2)[0] == describe_fault(reason, 4, 2)[0]
    for reason in (faults.EVENT_OUTSIDE_WINDOW, end_reasons.UNFINISHED):
        assert describe_fault(reason, 3, 4)[0] == describe_fault(reason, 3, 5)[0]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_event_length": 1}, "max_event_length=1: must be from 2 to 2147483647"),
        ({"max_nesting": 5}, "max_nesting=5: must be from 0 to 4"),
        ({"max_ratio": 0}, "max_ratio=0: must be from 1 to 1032"),
    ],
)
def test_limits_out_of_range_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        FrameLimits(**limits)


numbers = st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1))
versions = st.sampled_from([b"1", b"2"])
leaves = st.one_of(
    st.builds(window, numbers, versions),
    st.builds(json_event, numbers, st.binary(min_size=1, max_size=300), versions),
    st.builds(
        data_event,
        numbers,
        st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40)), max_size=5),
        versions,
    ),
)
streams = st.lists(leaves, max_size=8).map(b"".join)
nested = st.recursive(
    streams,
    lambda inner: st.builds(
        bytes.__add__, streams, st.builds(compressed, inner, versions, st.integers(0, 9))
    ),
    max_leaves=4,
)


@given(
    st.lists(nested, max_size=4).map(b"".join), st.lists(st.integers(1, 50), max_size=30), st.integers(0, 3)
)
def test_any_input_yields_the_result_of_the_plain_codec(new_reader, stream, cuts, space):
    reader = new_reader(max_nesting=4)
    reader.space = space
    at = 0

    for cut in cuts:
        reader.feed(stream[at : at + cut])
        at += cut
    reader.space = None
    reader.feed(stream[at:])

    if reader.fault != faults.NESTED_TOO_DEEP:
        assert (reader.calls, reader.rest, reader.budget.used) == (plain_codec.read(stream), b"", 0)
