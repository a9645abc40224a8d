"""Programs that run as forks behave as if they were started, for the process that starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import start_program

PROGRAM = """
import os, sys
print(sys.argv, os.environ["AERON_X"], sys.stdin.readline(), os.getppid(), __name__, sys.path[0], os.getcwd())
print("at last", file=sys.stderr)
sys.exit(3)
"""

pytestmark = pytest.mark.system


def start(program: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return start_program(
        [sys.executable, str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        cwd=program.parent,
    )


# Python reads the second variable when it starts: a new process.
@pytest.mark.parametrize("environment", [{}, {"PYTHONHASHSEED": "1"}], ids=["fork", "new process"])
def test_a_program_has_arguments_variables_streams_a_parent_and_an_exit_code(tmp_path, environment):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")

    process = start(program, "one", AERON_X="two", **environment)

    assert (process.args[0], process.communicate("three\n"), process.returncode) == (
        sys.executable,
        (
            f"['{program}', 'one'] two three\n {os.getpid()} __main__ {tmp_path} {tmp_path}\n",
            "at last\n",
        ),
        3,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_fork(tmp_path, number):
    program = tmp_path / "program.py"
    program.write_text("import signal; print('ready', flush=True); signal.pause()", encoding="utf-8")

    with start(program) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)

    assert process.returncode == -number


def test_a_process_whose_parent_is_a_fork_is_not_adopted(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=-3).pid, flush=True)",
        encoding="utf-8",
    )

    with start(program) as process:
        orphan = int(process.stdout.readline())
        process.wait()

    parent = int(Path(f"/proc/{orphan}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()[1])
    os.kill(orphan, signal.SIGKILL)
    assert parent != os.getpid()


SIGNALS = """
import signal
print(sorted(each.name for each in signal.valid_signals() if signal.getsignal(each) is signal.SIG_IGN))
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
"""


@pytest.fixture
def other_signals():
    """Ignore and block signals that this process did not when the server was started."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGHUP)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("other_signals")
def test_a_fork_inherits_the_signals_that_its_parent_ignores_and_blocks(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SIGNALS, encoding="utf-8")

    outputs = [
        start(program, **environment).communicate()[0] for environment in ({}, {"PYTHONHASHSEED": "1"})
    ]

    assert outputs[0] == outputs[1]
    assert "SIGTERM" in outputs[0]


@pytest.fixture
def hello(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys; print('hello', *sys.argv[1:])", encoding="utf-8")
    return program


def test_an_interrupt_of_the_terminal_does_not_end_the_server(hello):
    first = start(hello)
    first.communicate()
    os.kill(first._server._process.pid, signal.SIGINT)

    assert start(hello, "again").communicate()[0] == "hello again\n"


def test_answers_that_come_too_late_are_not_taken_for_those_of_another_program(hello, monkeypatch):
    first = start(hello)
    first.communicate()
    server = first._server._process
    server.send_signal(signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr("forked._FORK_S", 0.1)
        with pytest.raises(TimeoutError):
            start(hello, "late")
    server.send_signal(signal.SIGCONT)

    second = start(hello, "again")

    assert second.communicate()[0] == "hello again\n"
    assert second.returncode == 0


def test_a_server_that_has_ended_is_replaced_at_the_next_start(hello):
    first = start(hello)
    first.communicate()
    first._server._process.kill()
    first._server._process.wait()

    with pytest.raises((RuntimeError, BrokenPipeError)):
        start(hello)

    assert start(hello, "again").communicate()[0] == "hello again\n"
