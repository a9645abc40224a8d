"""Splitting of a file into lines, independent of the sizes of reads."""

import pytest

from aeron_core.shipping.line_splitter import TAIL_LENGTH, LineSplitter

TEXT = b"one\r\ntwo\n\nthree\xc3\xa4\nfour"


@pytest.mark.parametrize("length", [1, 2, 3, 5, 100])
def test_lines_do_not_depend_on_the_split_of_reads(length):
    splitter = LineSplitter(0, b"", 100)

    lines = [
        line for at in range(0, len(TEXT), length) for line in splitter.feed(TEXT[at : at + length])
    ] + splitter.finish()

    assert [line.payload for line in lines] == [b"one", b"two", b"", b"three\xc3\xa4", b"four"]
    assert b"".join(TEXT[line.offset : line.end] for line in lines) == TEXT
    assert [line.tail for line in lines] == [TEXT[: line.end] for line in lines]


def test_an_incomplete_line_is_held():
    splitter = LineSplitter(10, b"", 100)

    assert splitter.feed(b"begun") == []
    assert splitter.held == 5
    (line,) = splitter.feed(b" and ended\n")
    assert (line.offset, line.end, line.payload) == (10, 26, b"begun and ended")
    assert splitter.finish() == []


def test_a_long_line_is_split_without_loss():
    splitter = LineSplitter(0, b"", 4)

    lines = splitter.feed(b"0123456789\n")

    assert [line.payload for line in lines] == [b"0123", b"4567", b"89"]
    assert [line.end for line in lines] == [4, 8, 11]


def test_an_incomplete_long_line_is_split_before_its_end():
    splitter = LineSplitter(0, b"", 4)

    assert [line.payload for line in splitter.feed(b"012345678")] == [b"0123", b"4567"]
    assert splitter.held == 1


def test_no_utf8_character_is_split():
    splitter = LineSplitter(0, b"", 5)

    lines = splitter.feed("ääää\n".encode()) + splitter.feed("€€€€".encode()) + splitter.finish()

    assert [line.payload.decode() for line in lines] == ["ää", "ää", "€", "€", "€", "€"]


def test_invalid_utf8_is_split_at_the_maximum_length():
    splitter = LineSplitter(0, b"", 4)

    assert [line.payload for line in splitter.feed(b"\x80" * 9 + b"\n")] == [
        b"\x80" * 4,
        b"\x80" * 4,
        b"\x80",
    ]


def test_a_tail_is_limited_to_its_length():
    splitter = LineSplitter(300, b"x" * TAIL_LENGTH, 100)

    (line,) = splitter.feed(b"a\n")

    assert line.tail == b"x" * (TAIL_LENGTH - 2) + b"a\n"
