"""Hostile input: no crash, no exception, bounded memory, and an outcome independent of splits."""

import os
import random
import struct
import zlib

import pytest
from aeron_media.lumberjack._native import faults
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_codec import compressed, data_event, envelope, json_event, window

EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "200"))
MIB = 1 << 20
#: Memory of a C frame in addition to an event: the state of its zlib stream, a piece, and a spare of each.
HELD = 256 * 1024


def deflated_zeros(prefix, length):
    """Return a zlib stream of `prefix` and `length` zeros, without allocating these."""
    stream = zlib.compressobj(9)
    piece = bytes(MIB)
    pieces = [prefix, *[piece] * (length // MIB), bytes(length % MIB)]
    return b"".join(map(stream.compress, pieces)) + stream.flush()


def event_of_zeros(length):
    return deflated_zeros(b"2J" + struct.pack(">II", 1, length), length)


def test_a_long_event_inflated_from_few_bytes_is_refused_by_its_length(new_reader):
    reader = new_reader()

    reader.feed(envelope(event_of_zeros(150 * MIB)))

    assert reader.fault == faults.EVENT_TOO_LONG
    assert reader.most_used < HELD


@pytest.mark.parametrize(
    "data",
    [
        window(1) + compressed(json_event(1, b"{}") + b"\0\0\0\0\0\0"),
        window(1) + envelope(b"no zlib"),
        window(1) + compressed(json_event(1, bytes(900)))[:-20],
        window(1) + data_event(1, [(b"k", bytes(900))])[:-20],
    ],
)
def test_a_reset_parser_holds_no_memory(new_reader, data):
    reader = new_reader(max_nesting=2)
    for _ in range(2):
        reader.feed(data)
        reader.rest = b""

        reader.parser.reset()

        assert reader.budget.used == 0


def test_few_bytes_that_inflate_twice_cost_little(new_reader):
    bomb = compressed(envelope(event_of_zeros(150 * MIB)), level=9)
    assert len(bomb) < 1000

    for nesting in (1, 2):
        reader = new_reader(max_nesting=nesting)
        reader.feed(bomb)
        assert reader.fault == (faults.NESTED_TOO_DEEP if nesting == 1 else faults.EVENT_TOO_LONG)
        assert reader.most_used < MIB


def test_many_events_inflated_from_few_bytes_are_refused_by_their_ratio(new_reader):
    event = json_event(0, bytes(65_526))
    stream = zlib.compressobj(9)
    bomb = b"".join(stream.compress(event) for _ in range(2000)) + stream.flush()

    reader = new_reader(max_ratio=300)
    reader.feed(envelope(bomb))

    assert reader.fault == faults.RATIO_TOO_HIGH
    assert reader.parser.fault_value > 300
    assert len(reader.calls) < 40
    assert reader.most_used < 2 * HELD


def test_the_ratio_of_nested_frames_is_relative_to_received_bytes(new_reader):
    inner = compressed(json_event(0, bytes(65_000)), level=9)
    bomb = compressed(inner * 5000, level=9)

    reader = new_reader(max_nesting=2)
    reader.feed(bomb)

    assert reader.fault == faults.RATIO_TOO_HIGH
    assert len(reader.calls) < 100


def test_the_inflated_length_of_a_c_frame_is_limited(new_reader):
    lines = [json_event(n, b"%0200d" % n) for n in range(20_000)]

    reader = new_reader(max_inflated_length=MIB)
    reader.feed(compressed(b"".join(lines)))

    assert reader.fault == faults.INFLATED_TOO_LONG
    assert len(reader.calls) == MIB // len(lines[0])
    assert reader.most_used < HELD


def test_a_blocked_sink_stops_inflation(new_reader):
    stream = compressed(b"".join(json_event(n, b"%0200d" % n) for n in range(50_000)))
    reader = new_reader()
    reader.space = 10

    reader.feed(stream)

    assert len(reader.calls) == 10
    assert reader.parser.inflated_length <= 65_536
    assert len(reader.rest) > len(stream) // 2


def test_a_long_event_costs_memory_only_as_it_arrives(new_reader):
    event = random.Random(1).randbytes(4 * MIB)
    stream = compressed(json_event(1, event))
    reader = new_reader()

    reader.feed(stream[:100_000])
    assert reader.budget.used < 2 * HELD

    reader.feed(stream[100_000:])
    assert reader.calls == [("event", 0x32, 1, event)]
    assert reader.budget.used == 0


def test_a_writer_that_pauses_within_a_c_frame_costs_little_memory(new_reader):
    stream = zlib.compressobj()
    pieces = [
        stream.compress(json_event(n, b"%0200d" % n)) + stream.flush(zlib.Z_SYNC_FLUSH) for n in range(100)
    ]
    reader = new_reader()

    reader.feed(b"2C" + struct.pack(">I", 1 + sum(map(len, pieces))))
    for count, piece in enumerate(pieces, 1):
        reader.feed(piece)
        assert len(reader.calls) == count
        assert reader.budget.used < 100_000


def test_junk_after_a_zlib_stream_costs_no_memory(new_reader):
    reader = new_reader()

    reader.feed(envelope(zlib.compress(json_event(1, b"{}")) + bytes(100))[:-1])

    assert len(reader.calls) == 1
    assert (reader.rest, reader.budget.used) == (b"", 0)


def test_a_declared_length_alone_costs_no_memory(new_reader):
    reader = new_reader(max_event_length=2**31 - 1, max_frame_length=2**31 - 1)

    reader.feed(compressed(json_event(1, bytes(2**16)))[:40] + b"")
    reader.feed(b"")
    plain = new_reader(max_event_length=2**31 - 1, max_frame_length=2**31 - 1)
    plain.feed(b"2J" + struct.pack(">II", 1, 2**31 - 1))

    assert reader.budget.used < HELD
    assert plain.budget.used == 0


@pytest.mark.parametrize("budget", [0, 50_000, 100_000, 160_000, 400_000])
def test_an_exhausted_budget_ends_the_connection_with_its_limit(new_reader, budget):
    reader = new_reader(budget=budget)
    long_event = json_event(1, random.Random(1).randbytes(500_000))

    reader.feed(compressed(long_event))

    assert reader.fault == faults.BUDGET_SPENT
    assert reader.text[0].endswith(f"may use {budget} bytes; max-memory= sets it")
    assert reader.most_used <= budget


def test_a_parser_deleted_within_a_frame_frees_its_memory(new_reader):
    reader = new_reader()
    reader.feed(compressed(json_event(1, random.Random(1).randbytes(500_000)))[:300_000])
    budget = reader.budget
    assert budget.used > 0

    del reader.parser

    assert budget.used == 0


CORPUS = [
    window(3) + b"".join(json_event(n, b'{"message":"%d"}' % n) for n in range(3)),
    window(3) + compressed(b"".join(json_event(n, b'{"message":"%d"}' % n) for n in range(30))),
    compressed(window(1) + compressed(data_event(1, [(b"a", b"b" * 300), (b"\xff", b"\n")]))),
    window(1, b"1") + data_event(1, [(b"line", b"text")] * 5) + compressed(data_event(2, []), b"1", level=0),
    envelope(zlib.compress(json_event(1, b"{}")) + b"junk") + window(0),
]


def mutated(chance):
    data = bytearray(chance.choice(CORPUS) + chance.choice(CORPUS))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at] = chance.choice(b"\x00\xff\x7f\x80" + b"12WJDCA")
        elif kind == 2:
            del data[at : at + chance.randint(1, 8)]
        elif kind == 3:
            data[at:at] = chance.randbytes(chance.randint(1, 8))
        else:
            data[at : at + 4] = struct.pack(
                ">I", chance.choice([0, 1, 2**31, 2**32 - 1, chance.randrange(300)])
            )
        data = data or bytearray(b"2")
    return bytes(data)


def outcome(reader):
    return reader.calls, reader.fault, reader.parser.fault_value if reader.fault != faults.BUDGET_SPENT else 0


@pytest.mark.parametrize("seed", range(8))
def test_the_outcome_of_hostile_mutations_does_not_depend_on_splits(new_reader, seed):
    chance = random.Random(seed)
    for _ in range(EXAMPLES // 4):
        data = mutated(chance)
        whole, cut, held_up = (
            new_reader(budget=MIB, max_nesting=2, max_event_length=2**16) for _ in range(3)
        )

        whole.feed(data)
        at = 0
        while at < len(data):
            step = chance.choice([1, 2, 5, 60])
            cut.feed(data[at : at + step])
            at += step
        held_up.space = 0
        held_up.feed(data)
        while held_up.parser.is_blocked:
            held_up.space = 1
            held_up.feed(b"")

        assert outcome(whole) == outcome(held_up)
        assert whole.budget.used <= MIB
        if faults.BROKEN_COMPRESSION not in {whole.fault, cut.fault}:
            assert outcome(whole)[:2] == outcome(cut)[:2]
        else:
            # The output of a broken stream before the error depends on the split.
            assert min(whole.fault, cut.fault) != 0 != max(whole.fault, cut.fault)
            common = min(len(whole.calls), len(cut.calls))
            assert whole.calls[:common] == cut.calls[:common]


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([b"2J", b"1D", b"2C", b"2W", *CORPUS]))).map(
        b"".join
    )
)
def test_hostile_bytes_are_parsed_or_refused(new_reader, data):
    reader = new_reader(budget=MIB, max_nesting=2)

    reader.feed(data)

    assert reader.fault != faults.NO_FAULT or len(reader.rest) < max(reader.parser.wanted, 1)
