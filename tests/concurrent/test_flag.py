"""A flag that signal handlers set."""

import itertools
import signal
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from aeron_core.concurrent import flag as module
from aeron_core.concurrent.flag import Flag


@pytest.fixture
def interrupt_every_line():
    """Return a function that calls another one before each line of the flag's code, as a signal handler might run."""

    def begin(handler):
        def trace(frame, event, argument):
            if frame.f_code.co_filename != module.__file__:
                return None
            if event == "line":
                handler()
            return trace

        sys.settrace(trace)

    before = sys.gettrace()
    yield begin
    sys.settrace(before)


def test_a_wait_ends_although_its_time_is_over_before_the_thread_blocks(monkeypatch):
    # Each wait of 1 ns has its time left when the flag computes it, but may have none when Python prepares to wait.
    times = itertools.cycle((0, 0, 1))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))

    for _ in range(20_000):
        assert not Flag().wait(1e-9)


def test_a_flag_stays_set():
    flag = Flag()
    assert not flag.is_set()

    flag.set()
    flag.set()

    assert flag.is_set()
    assert [flag.wait(), flag.wait(0), flag.wait(1)] == [True] * 3


def test_waiting_for_a_flag_ends_with_the_timeout():
    assert not Flag().wait(0)
    assert not Flag().wait(0.001)


def test_all_waiting_threads_are_woken():
    flag = Flag()
    threads = [threading.Thread(target=flag.wait) for _ in range(5)]
    for thread in threads:
        thread.start()

    flag.set()

    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("method", ["set", "wait"])
def test_a_handler_may_set_the_flag_whatever_line_it_interrupts(interrupt_every_line, method):
    flag = Flag()
    interrupt_every_line(flag.set)

    getattr(flag, method)()

    assert flag.is_set()


def test_a_signal_ends_the_wait():
    flag = Flag()
    before = signal.signal(signal.SIGALRM, lambda number, frame: flag.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        started = time.monotonic()
        assert flag.wait(60)
        assert time.monotonic() - started < 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_ends_the_wait_even_if_it_does_not_wake_the_thread():
    flag = Flag()
    waiting = threading.get_ident()

    def interrupt_wait():
        while sys._current_frames()[waiting].f_code.co_filename != module.__file__:
            pass
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: flag.set())
    thread = threading.Thread(target=interrupt_wait)
    try:
        started = time.monotonic()
        thread.start()
        assert flag.wait(20)
        assert time.monotonic() - started < 10
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
