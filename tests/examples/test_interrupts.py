"""Ctrl-C ends an example without a traceback, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from example_programs import EXAMPLES, with_own_addresses

#: The other examples have tests of their own for it.
PROGRAMS = ["batches.py", "fan_out.py", "market_data.py", "request_response.py"]


@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_ends_an_example_quietly(program, tmp_path):
    path = tmp_path / program
    path.write_text(with_own_addresses((EXAMPLES / program).read_text(encoding="utf-8")), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert (process.returncode, errors) == (0, "")
