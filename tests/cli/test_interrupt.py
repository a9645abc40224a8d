"""The flag that a signal sets."""

import signal

import pytest

from aeron_core.cli.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_flag_and_ends_the_wait(number):
    with Interrupt() as interrupt:
        assert not interrupt
        signal.raise_signal(number)
        assert interrupt.wait(60)
        assert interrupt


@pytest.mark.usefixtures("python_interrupts")
def test_a_second_interrupt_is_not_caught():
    with Interrupt():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_previous_signal_handlers_are_restored_after_the_block():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
