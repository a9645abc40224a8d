"""The examples of the documentation run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.system
def test_the_example_of_the_readme_runs():
    (example,) = python_blocks(ROOT / "README.md")

    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "[b'message 0', b'message 1', b'message 2']\n"


@pytest.mark.system
def test_the_example_of_the_tutorial_runs(tmp_path):
    (example,) = python_blocks(ROOT / "docs" / "tutorial.md")
    program = (
        "import os, aeron_core\n"
        "with aeron_core.MediaDriver.launch_embedded() as driver:\n"
        "    os.environ['AERON_DIR'] = str(driver.aeron_dir)\n"
        f"    exec({example!r})\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "64 b'hello'\n"
