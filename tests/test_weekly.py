"""The steps of `.ci/weekly`, with programs in place of `make` and `tools/newcomer`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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

    def run(failing: str) -> tuple[int, list[str]]:
        environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FAILING": failing}
        done = subprocess.run(
            [tmp_path / ".ci" / "weekly"], env=environment, capture_output=True, text=True, check=False
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
    ]
    assert lines[-1].split("  ")[0].endswith("000 SEEDS=200")
    assert all(line.endswith(" s  passed") for line in lines)


@pytest.mark.parametrize("failing", ["dist-check", "links", "hostile", "faults"])
def test_the_weekly_run_goes_on_after_a_step_that_fails_and_fails_at_its_end(weekly, failing):
    code, lines = weekly(failing)

    assert code == 1
    assert [line.endswith("failed, exit code 3") for line in lines] == [
        f"make {failing}" in line for line in lines
    ]
    assert len(lines) == 8
