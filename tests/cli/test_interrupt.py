"""The flag that a signal sets, and signals while modules are imported."""

import os
import signal
import subprocess
import sys

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


#: Runs a command; SIGINT arrives at the import of a module, where exceptions are ignored as in a finalizer.
INTERRUPTED = """
import signal, sys

module = sys.argv.pop(1)

class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Finder:
    def find_spec(name, path=None, target=None):
        if name == module:
            Finalized()

sys.meta_path.insert(0, Finder)
from aeron_core.cli.main import main
main()
"""


@pytest.mark.system
@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("aeron_core.cli.driver.process", ["driver"]),
        ("aeron_flow_control.plugin", ["driver"]),
        ("aeron_flow_control.plugin", ["driver", "-d", "mine"]),
        ("typer", ["--help"]),
        ("aeron_core.cli.messages.pub", ["pub", "--help"]),
    ],
)
def test_an_interrupt_while_modules_are_imported_is_not_lost(tmp_path, module, arguments):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *arguments],
        cwd=tmp_path,
        env=os.environ | {"AERON_DIR": str(tmp_path / "driver")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert not (tmp_path / "driver").exists()
