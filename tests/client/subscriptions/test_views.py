"""Views of fragments: reused without references, kept unchanged otherwise."""

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


def test_an_unreferenced_view_is_reused(views):
    # Not within an assert, which keeps references to its operands.
    addresses = {address(views(0, 4)), address(views(8, 2))}
    assert len(addresses) == 1


def test_a_view_covers_exactly_its_range(views):
    views(0, 16)
    view = views(8, 3)
    assert (bytes(view), view.nbytes, view.shape, view.readonly) == (b"\x08\x09\x0a", 3, (3,), True)


def test_a_referenced_view_is_not_moved(views):
    kept = views(0, 4)
    other = views(8, 4)
    assert other is not kept
    assert (bytes(kept), bytes(other)) == (b"\0\1\2\3", b"\x08\x09\x0a\x0b")


def test_a_view_with_a_referenced_slice_is_not_moved(views):
    part = views(0, 4)[1:3]
    views(8, 4)
    assert bytes(part) == b"\1\2"


def test_a_view_with_a_referenced_cast_is_not_moved(views):
    words = views(0, 4).cast("H")
    views(8, 4)
    assert words.tolist() == [0x0100, 0x0302]


def test_a_weakly_referenced_view_is_not_moved(views):
    reference = weakref.ref(views(0, 4))
    views(8, 4)
    assert reference() is None or bytes(reference()) == b"\0\1\2\3"


def test_a_released_view_is_replaced(views):
    views(0, 4).release()
    assert bytes(views(8, 2)) == b"\x08\x09"


def test_a_reused_view_has_the_hash_of_its_new_content(views):
    hash(views(0, 4))
    assert hash(views(8, 2)) == hash(b"\x08\x09")


def test_a_range_outside_of_the_buffer_raises(views):
    with pytest.raises(IndexError):
        views(250, 7)
