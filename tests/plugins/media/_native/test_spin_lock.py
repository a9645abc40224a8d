import subprocess
import sys
import threading

from aeron_media._native.spin_lock import SpinLock


def test_a_lock_is_taken_once_and_given_back():
    lock = SpinLock()
    assert lock.try_take()
    assert not lock.try_take()
    lock.give()
    assert lock.try_take()


def test_who_takes_a_lock_waits_for_whoever_has_it():
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


#: What a process ends with in time, unless who waits for a lock keeps others from running Python.
CONTENTION = """
import threading
from aeron_media._native.spin_lock import SpinLock

lock = SpinLock()
lock.take()
is_waiting = threading.Event()
thread = threading.Thread(target=lambda: (is_waiting.set(), lock.take()))
# Who waits for the event runs on when the other gives up the GIL, and not before.
thread.start()
is_waiting.wait()
lock.give()
thread.join()
"""


def test_who_waits_for_a_lock_lets_its_holder_run_python():
    subprocess.run([sys.executable, "-c", CONTENTION], check=True, timeout=60)
