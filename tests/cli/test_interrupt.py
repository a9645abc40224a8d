"""The flag that a signal sets."""

import os
import signal

import pytest

from aeron_core.cli.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_flag_and_ends_the_wait(number):
    with Interrupt() as interrupt:
        assert not interrupt
        os.kill(os.getpid(), number)
        assert interrupt.wait(60)
        assert interrupt


def test_a_second_interrupt_is_one_that_nobody_holds_up():
    with Interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_behind_the_block_signals_do_what_they_did():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
