import threading

import pytest

from aeron_core._native.atomic_long import AtomicLong


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63)])
def test_a_value_is_read_as_it_was_written(value):
    number = AtomicLong(5)

    number.set_release(value)

    assert number.get_acquire() == value
    assert repr(number) == f"AtomicLong({value})"


def test_another_thread_sees_what_was_written():
    number, seen = AtomicLong(), threading.Event()

    def wait():
        while number.get_acquire() == 0:
            pass
        seen.set()

    reader = threading.Thread(target=wait, daemon=True)
    reader.start()
    number.set_release(1)

    assert seen.wait(30)
