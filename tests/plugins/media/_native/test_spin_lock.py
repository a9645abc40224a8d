import subprocess
import sys
import threading

import pytest
from aeron_media._native.spin_lock import SpinLock


def test_a_lock_is_held_once_and_released():
    lock = SpinLock()
    assert lock.try_take()
    assert not lock.try_take()
    lock.give()
    assert lock.try_take()


def test_taking_a_lock_waits_for_its_holder():
    lock = SpinLock()
    order = []
    lock.take()

    def take_too():
        lock.take()
        order.append("second")
        lock.give()

    thread = threading.Thread(target=take_too)
    order.append("first")
    lock.give()
    thread.start()
    thread.join(10)
    assert order == ["first", "second"]
    assert lock.try_take()


#: Completes only if waiting for a lock releases the GIL.
CONTENTION = """
import threading

import pytest
from aeron_media._native.spin_lock import SpinLock

lock = SpinLock()
lock.take()
is_waiting = threading.Event()
thread = threading.Thread(target=lambda: (is_waiting.set(), lock.take()))
# The waiting thread of the event continues only when the other thread releases the GIL.
thread.start()
is_waiting.wait()
lock.give()
thread.join()
"""


@pytest.mark.system
def test_waiting_for_a_lock_releases_the_gil():
    subprocess.run([sys.executable, "-c", CONTENTION], check=True, timeout=60)
