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
