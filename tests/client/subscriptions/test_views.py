"""Views of fragments: moved on when nobody kept them, left alone when somebody did."""

from __future__ import annotations

import weakref

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client._native.views import ViewFactory


@pytest.fixture
def views() -> ViewFactory:
    return ViewFactory(AtomicBuffer(bytearray(range(256))))


def address(view: memoryview) -> int:
    return id(view)


def test_a_view_that_nobody_kept_is_the_next_one_too(views):
    # Not within an assert, which keeps what it looks at.
    addresses = {address(views(0, 4)), address(views(8, 2))}
    assert len(addresses) == 1


def test_a_view_shows_its_range_and_no_more(views):
    views(0, 16)
    view = views(8, 3)
    assert (bytes(view), view.nbytes, view.shape, view.readonly) == (b"\x08\x09\x0a", 3, (3,), True)


def test_a_view_that_was_kept_stays_where_it_is(views):
    kept = views(0, 4)
    other = views(8, 4)
    assert other is not kept
    assert (bytes(kept), bytes(other)) == (b"\0\1\2\3", b"\x08\x09\x0a\x0b")


def test_a_part_that_was_kept_stays_where_it_is(views):
    part = views(0, 4)[1:3]
    views(8, 4)
    assert bytes(part) == b"\1\2"


def test_a_cast_that_was_kept_stays_where_it_is(views):
    words = views(0, 4).cast("H")
    views(8, 4)
    assert words.tolist() == [0x0100, 0x0302]


def test_a_view_that_is_referred_to_weakly_is_not_moved(views):
    reference = weakref.ref(views(0, 4))
    views(8, 4)
    assert reference() is None or bytes(reference()) == b"\0\1\2\3"


def test_a_view_that_was_released_is_replaced(views):
    views(0, 4).release()
    assert bytes(views(8, 2)) == b"\x08\x09"


def test_a_view_that_was_moved_has_the_hash_of_what_it_shows_now(views):
    hash(views(0, 4))
    assert hash(views(8, 2)) == hash(b"\x08\x09")


def test_a_range_outside_of_the_buffer_is_refused(views):
    with pytest.raises(IndexError):
        views(250, 7)
