"""The steps of `.ci/weekly`, with programs in place of `make` and `tools/newcomer`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "weekly.yml"
FAILS = '#!/bin/bash\n[[ $1 != "$FAILING" ]] || exit 3\n'

pytestmark = pytest.mark.system


@pytest.fixture
def weekly(tmp_path):
    """Run a copy of the script in a folder in which one target of `make` fails."""
    for name in (".ci", "tools", "bin"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / ".ci" / "weekly", tmp_path / ".ci")
    for name in ("bin/make", "bin/clang", "tools/newcomer"):
        (tmp_path / name).write_text(FAILS)
        (tmp_path / name).chmod(0o755)

    def run(failing: str, *steps: str, **variables: str) -> tuple[int, list[str]]:
        environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FAILING": failing}
        done = subprocess.run(
            [tmp_path / ".ci" / "weekly", *steps],
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.partition("== summary\n")[2].splitlines()

    return run


def test_the_weekly_run_has_every_step_in_its_summary(weekly):
    code, lines = weekly("none")

    assert code == 0
    assert [line.split("  ")[0].split(" SEED=")[0] for line in lines] == [
        "make dist-check",
        "make links",
        "tools/newcomer --all",
        "make hostile TIME=3600",
        "make floods",
        "make sanitize",
        "make sanitize-threads",
        "make faults",
        "make soak",
    ]
    assert lines[-2].split("  ")[0].endswith("000 SEEDS=200")
    assert lines[-1].split("  ")[0].endswith("DURATION=14400")
    assert all(line.endswith(" s  passed") for line in lines)


@pytest.mark.parametrize("failing", ["dist-check", "links", "hostile", "faults", "soak"])
def test_the_weekly_run_goes_on_after_a_step_that_fails_and_fails_at_its_end(weekly, failing):
    code, lines = weekly(failing)

    assert code == 1
    assert [line.endswith("failed, exit code 3") for line in lines] == [
        f"make {failing}" in line for line in lines
    ]
    assert len(lines) == 9


def test_steps_run_alone_and_for_other_durations(weekly):
    code, lines = weekly("none", "soak", "hostile", FUZZ_SECONDS="60", SOAK_SECONDS="120")

    assert code == 0
    assert [re.sub(r" SEED=\d+|  .*", "", line) for line in lines] == [
        "make hostile TIME=60",
        "make soak DURATION=120",
    ]


def test_a_step_that_does_not_exist_is_an_error(weekly):
    assert weekly("none", "hostility") == (2, [])


def test_the_workflow_is_valid():
    pytest.importorskip("check_jsonschema")

    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW],
        check=True,
    )


def test_the_workflow_runs_each_step_once_a_week():
    yaml = pytest.importorskip("yaml")
    # A YAML 1.1 parser reads the key `on` as True.
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    script = (ROOT / ".ci" / "weekly").read_text(encoding="utf-8")
    (job,) = workflow["jobs"].values()

    steps = re.findall(r"^run (\S+)", script, re.MULTILINE)
    assert job["strategy"]["matrix"]["step"] == steps
    (schedule,) = workflow[True]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \d", schedule["cron"])
    assert "workflow_dispatch" in workflow[True]


def test_what_the_weekly_run_calls_exists():
    script = (ROOT / ".ci" / "weekly").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for target in re.findall(r"^run \S+ make (\S+)", script, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for program in re.findall(r"^run \S+ (tools/\S+)", script, re.MULTILINE):
        assert os.access(ROOT / program, os.X_OK), program
