import threading

import pytest

from aeron_core._native.cell import AtomicLong


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63)])
def test_a_value_is_read_as_it_was_written(value):
    cell = AtomicLong(5)

    cell.set_release(value)

    assert cell.get_acquire() == value
    assert repr(cell) == f"AtomicLong({value})"


def test_another_thread_sees_what_was_written():
    cell, seen = AtomicLong(), threading.Event()

    def wait():
        while cell.get_acquire() == 0:
            pass
        seen.set()

    reader = threading.Thread(target=wait, daemon=True)
    reader.start()
    cell.set_release(1)

    assert seen.wait(30)
