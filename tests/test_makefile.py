"""Commands that `make` would run."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


def commands(*arguments: str) -> str:
    return subprocess.run(
        ["make", "--dry-run", "--assume-old=.venv/.built", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("arguments", "command"),
    [((), "demo"), (("INPUT=/var/log/my log",), "demo --input '/var/log/my log'")],
)
def test_make_demo_sends_the_given_log(arguments, command):
    lines = [line.strip().removesuffix("; \\").rstrip() for line in commands("demo", *arguments).splitlines()]

    assert f".venv/bin/aeron-core {command}" in lines
    assert f".venv/bin/aeron-core pipeline {command}" in lines
