import threading

from aeron_core._native.spin_lock import SpinLock


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
