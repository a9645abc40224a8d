"""Lines of a file, whatever the pieces it is read in."""

import pytest

from aeron_core.shipping.line_splitter import TAIL_LENGTH, LineSplitter

TEXT = b"one\r\ntwo\n\nthree\xc3\xa4\nfour"


@pytest.mark.parametrize("length", [1, 2, 3, 5, 100])
def test_lines_are_the_same_however_they_come(length):
    splitter = LineSplitter(0, b"", 100)

    lines = [
        line for at in range(0, len(TEXT), length) for line in splitter.feed(TEXT[at : at + length])
    ] + splitter.finish()

    assert [line.payload for line in lines] == [b"one", b"two", b"", b"three\xc3\xa4", b"four"]
    assert b"".join(TEXT[line.offset : line.end] for line in lines) == TEXT
    assert [line.tail for line in lines] == [TEXT[: line.end] for line in lines]


def test_a_line_without_its_end_is_held_back():
    splitter = LineSplitter(10, b"", 100)

    assert splitter.feed(b"begun") == []
    assert splitter.held == 5
    (line,) = splitter.feed(b" and ended\n")
    assert (line.offset, line.end, line.payload) == (10, 26, b"begun and ended")
    assert splitter.finish() == []


def test_a_long_line_is_cut_into_pieces_that_have_all_of_it():
    splitter = LineSplitter(0, b"", 4)

    lines = splitter.feed(b"0123456789\n")

    assert [line.payload for line in lines] == [b"0123", b"4567", b"89"]
    assert [line.end for line in lines] == [4, 8, 11]


def test_a_long_line_whose_end_does_not_come_is_not_held_for_ever():
    splitter = LineSplitter(0, b"", 4)

    assert [line.payload for line in splitter.feed(b"012345678")] == [b"0123", b"4567"]
    assert splitter.held == 1


def test_no_character_is_cut_in_two():
    splitter = LineSplitter(0, b"", 5)

    lines = splitter.feed("ääää\n".encode()) + splitter.feed("€€€€".encode()) + splitter.finish()

    assert [line.payload.decode() for line in lines] == ["ää", "ää", "€", "€", "€", "€"]


def test_what_is_no_text_is_cut_anywhere():
    splitter = LineSplitter(0, b"", 4)

    assert [line.payload for line in splitter.feed(b"\x80" * 9 + b"\n")] == [
        b"\x80" * 4,
        b"\x80" * 4,
        b"\x80",
    ]


def test_a_tail_has_its_length_at_most():
    splitter = LineSplitter(300, b"x" * TAIL_LENGTH, 100)

    (line,) = splitter.feed(b"a\n")

    assert line.tail == b"x" * (TAIL_LENGTH - 2) + b"a\n"
