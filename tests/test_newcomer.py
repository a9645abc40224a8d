"""The program that times the first steps of a new user: what is true of it without a build."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tools" / "newcomer"

pytestmark = pytest.mark.system


def newcomer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout")
def test_a_step_is_carried_out_and_its_figures_are_printed():
    done = newcomer("--steps", "clone", "--json")

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert [(figure["step"], figure["name"], figure["unit"]) for figure in figures] == [
        ("clone", "git clone: wall", "s"),
        ("clone", "git clone: CPU", "s"),
    ]


def test_a_step_that_fails_is_reported_with_its_command():
    done = newcomer("--steps", "clone", "--from", "/nonexistent")

    assert done.returncode == 1
    assert "error: exit status 128 of git clone --quiet /nonexistent" in done.stderr


def test_an_unknown_step_is_refused():
    done = newcomer("--steps", "clone,lunch")

    assert done.returncode == 2
    assert "no step lunch: must be of clone, demo, python" in done.stderr


def test_the_commands_of_a_user_are_those_of_the_tutorial():
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

    for name in ("driver", "sub", "pub"):
        assert re.search(rf"\$ (aeron-core {name} .*)", page)
    assert page.count("20121") >= 2


def test_a_wheel_that_is_not_there_is_refused_before_the_first_step(tmp_path):
    done = newcomer("--steps", "message", "--wheel", str(tmp_path / "aeron_core.whl"))

    assert done.returncode == 2
    assert f"--wheel: no file {tmp_path / 'aeron_core.whl'}" in done.stderr


def test_the_sources_and_tests_that_it_uses_exist():
    names = re.findall(r'"((?:aeron_core|tests)/[\w/]+\.\w+)"', PROGRAM.read_text(encoding="utf-8"))

    assert len(names) == 4
    assert all((ROOT / name).is_file() for name in names)


def test_the_start_up_figures_with_a_bar_are_measured():
    text = PROGRAM.read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "start_up.py").read_text(encoding="utf-8")

    titles = re.findall(r'^    "((?:aeron-core|embedded|standalone)[^"]+)": \d', text, re.M)
    assert len(titles) == 13
    for title in titles:
        command = re.fullmatch(r"aeron-core (.*): processor time, ms", title)
        # Of commands, the benchmark has the arguments.
        parts = [f'"{part}"' for part in command[1].split()] if command else [title.partition(": ")[2]]
        assert all(part.removesuffix(", ms") in measured for part in parts), title
