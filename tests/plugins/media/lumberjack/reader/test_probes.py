"""Answers to each probe of the wire documentation, sent at once and byte by byte."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest
from plain_codec import ack, compressed, data_event, envelope, window
from reading import CLOSED, events, received_by

from aeron_core.testing.pair import MS


def nested(depth):
    data = events(1)
    for _ in range(depth):
        data = compressed(data)
    return data


PAIRS = [(b"line", b"l")]
ONE, TWO = data_event(1, PAIRS), data_event(2, PAIRS)
#: Expected answers: the rows of the table in docs/wire/lumberjack.md.
TABLE = {
    "W2 J1 J2": (window(2) + events(1, 2), ack(2)),
    "W2 C(J1 J2)": (window(2) + compressed(events(1, 2)), ack(2)),
    "C(W2 J1 J2)": (compressed(window(2) + events(1, 2)), ack(2)),
    "W4 C(J1 J2) C(J3 J4)": (window(4) + compressed(events(1, 2)) + compressed(events(3, 4)), ack(4)),
    "W3 J1 C(J2 J3)": (window(3) + events(1) + compressed(events(2, 3)), ack(3)),
    "W2 C(C(J1 J2))": (window(2) + compressed(compressed(events(1, 2))), CLOSED),
    "W0": (window(0), ack(0)),
    "W0 W1 J1": (window(0) + window(1) + events(1), ack(0) + ack(1)),
    "W2 J0 J1": (window(2) + events(0, 1), ack(1)),
    "W2 J100 J101": (window(2) + events(100, 101), ack(101)),
    "W3 J0xfffffffe J0xffffffff J0": (window(3) + events(0xFFFFFFFE, 0xFFFFFFFF, 0), ack(0)),
    "W3 J3 J2 J1": (window(3) + events(3, 2, 1), ack(1)),
    "W3 J1 J3 J3": (window(3) + events(1, 3, 3), ack(3)),
    "W5 J1 J2, then silence": (window(5) + events(1, 2), b""),
    "W5 J1 J2 W1 J1": (window(5) + events(1, 2) + window(1) + events(1), ack(2) + ack(1)),
    "W1 J1 J2 J3": (window(1) + events(1, 2, 3), ack(1) + ack(3)),
    "J1 without W": (events(1), ack(1)),
    "W1 J1 W1 J1": (window(1) + events(1) + window(1) + events(1), ack(1) + ack(1)),
    "W2 J1 J2 W2 J3 J4": (window(2) + events(1, 2) + window(2) + events(3, 4), ack(2) + ack(4)),
    "1W2 1D1 1D2": (window(2, b"1") + ONE + TWO, ack(2, b"1")),
    "1W2 1C(1D1 1D2)": (window(2, b"1") + compressed(ONE + TWO, b"1"), ack(2, b"1")),
    "1W1 1J1": (window(1, b"1") + events(1, version=b"1"), ack(1, b"1")),
    "2W1 2D1": (window(1) + data_event(1, PAIRS, b"2"), ack(1)),
    "2W1 1D1": (window(1) + ONE, ack(1)),
    "1W1 2J1": (window(1, b"1") + events(1), ack(1, b"1")),
    "2W1 2J1 1W1 1D1": (window(1) + events(1) + window(1, b"1") + ONE, ack(1) + ack(1, b"1")),
    "1W1 1D1 2W1 2J1": (window(1, b"1") + ONE + window(1) + events(1), ack(1, b"1") + ack(1)),
    "D with 0 pairs": (window(1, b"1") + data_event(1, []), ack(1, b"1")),
    "J length 0": (window(1) + events(1, payload=b""), CLOSED),
    "J invalid JSON": (window(1) + events(1, payload=b"{]"), ack(1)),
    "J = [1,2]": (window(1) + events(1, payload=b"[1,2]"), ack(1)),
    "J = 7": (window(1) + events(1, payload=b"7"), ack(1)),
    "J with invalid UTF-8": (window(1) + events(1, payload=b'{"a":"\xff"}'), ack(1)),
    "J length 0xfffffff0": (window(1) + b"2J\0\0\0\1\xff\xff\xff\xf0", CLOSED),
    "J length 0x7fffffff": (window(1) + b"2J\0\0\0\1\x7f\xff\xff\xff", CLOSED),
    "C length 0xfffffff0": (window(1) + b"2C\xff\xff\xff\xf0", CLOSED),
    "C length 0": (window(1) + envelope(b""), b""),
    "C of 20 zero bytes": (window(1) + envelope(bytes(20)), CLOSED),
    "C with a truncated inner frame": (window(1) + compressed(events(1)[:-3]), CLOSED),
    "inner frame split over two C": (
        window(1) + compressed(events(1)[:9]) + compressed(events(1)[9:]),
        CLOSED,
    ),
    "W1 C(J1 J2 J3) W1 J1": (
        window(1) + compressed(events(1, 2, 3)) + window(1) + events(1),
        ack(1) + ack(3) + ack(1),
    ),
    "W1 C(J1 W1 J1)": (window(1) + compressed(events(1) + window(1) + events(1)), ack(1) + ack(1)),
    "version '3'": (b"3W\0\0\0\1", CLOSED),
    "type 'Z'": (b"2Z\0\0\0\1", CLOSED),
    "HTTP GET": (b"GET / HTTP/1.1\r\n\r\n", CLOSED),
    "client sends A": (ack(1), CLOSED),
    "W 0xffffffff J1": (window(0xFFFFFFFF) + events(1), b""),
    "8-deep C": (window(1) + nested(8), CLOSED),
    "500-deep C": (window(1) + nested(500), CLOSED),
    "C with 7 junk bytes after the zlib stream, then W1 J1": (
        window(1) + envelope(zlib.compress(events(1)) + b"7 bytes") + window(1) + events(1),
        ack(1) + ack(1),
    ),
    "C raw deflate": (window(1) + envelope(zlib.compress(events(1))[2:-4]), CLOSED),
    "C gzip": (window(1) + envelope(gzip.compress(events(1))), CLOSED),
    "W 10001 J1": (window(10_001) + events(1), b""),
}


@pytest.mark.parametrize("row", TABLE)
def test_probes_get_the_documented_answers(reading, row):
    sent, answered = TABLE[row]
    assert reading.exchange(reading.dial(), sent) == answered


@pytest.mark.parametrize("row", TABLE)
def test_the_documented_answers_are_those_of_this_table(row):
    page = (Path(__file__).parents[5] / "docs" / "wire" / "lumberjack.md").read_text(encoding="utf-8")
    assert f"| {row} | {_shown(TABLE[row][1])} |" in page


def _shown(answered):
    shown = []
    while answered:
        if answered.startswith(CLOSED):
            shown.append("closed")
            answered = answered[len(CLOSED) :]
        else:
            shown.append(f"{chr(answered[0])}A{int.from_bytes(answered[2:6], 'big')}")
            answered = answered[6:]
    return " ".join(shown) or "nothing"


@pytest.mark.parametrize("row", [row for row, (_, answered) in TABLE.items() if CLOSED not in answered])
def test_answers_do_not_depend_on_splits(reading, row):
    sent, answered = TABLE[row]
    writer = reading.dial()
    for index in range(len(sent)):
        writer.send(sent[index : index + 1])
        reading.run(3 * MS)
    reading.run()
    # Acknowledgements that were combined can be separate then.
    assert received_by(writer)[-6:] == answered[-6:]
