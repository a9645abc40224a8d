"""Help and exit codes with the oldest and the newest release of typer that the package accepts.

`aeron_core.cli` uses private names of typer, which any release may change.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from peer_programs import make_once

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/cli/test_help.py",
    "tests/cli/test_exit_codes.py",
    "tests/cli/test_completion.py::test_values_are_completed_without_a_driver",
)

pytestmark = pytest.mark.system


def accepted() -> str:
    """Return the requirement of the package, such as `typer>=0.29,<0.30`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = (text for text in project["dependencies"] if text.startswith("typer"))
    return str(requirement)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages in a folder before those that are installed."""
    path = os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(
        os.pathsep
    )
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(params=["oldest", "newest"])
def release(request) -> Path:
    """Return a folder with an accepted release of typer alone, which is kept between runs."""
    least = re.search(r">=([\d.]+),<", accepted())
    assert least, accepted()
    requirement = f"typer=={least[1]}" if request.param == "oldest" else accepted()
    folder = ROOT / "build" / "typer" / request.param
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder]
    make_once(folder, requirement, lambda: subprocess.run([*pip, requirement], check=True))
    return folder


def test_help_and_exit_codes_are_those_of_the_tests_with_each_end_of_the_range(release):
    imported = run("-c", "import typer; print(typer.__file__)", folder=release)
    assert imported.stdout.startswith(f"{release}{os.sep}"), imported.stderr

    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS, folder=release)

    assert done.returncode == 0, done.stdout
