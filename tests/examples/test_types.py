"""mypy and pyright, with strict rules, accept every example and the first programs of the documentation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from example_programs import EXAMPLES

ROOT = EXAMPLES.parent
# What a kernel has without an import; its own annotations are incomplete.
DISPLAY = """
class _Handle:
    def update(self, figure: object) -> None: ...

def display(figure: object, *, display_id: bool) -> _Handle:
    raise NotImplementedError
"""
#: Types of other distributions, some of which have no annotations.
OTHERS = ["reportMissingTypeStubs", "reportUnknownMemberType", "reportUnknownVariableType"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Copy the examples to a folder, with the code of the notebook as a module."""
    folder = tmp_path_factory.mktemp("programs")
    found = sorted(EXAMPLES.rglob("*.py"))
    assert len(found) >= 8
    for path in found:
        name = "_".join(path.relative_to(EXAMPLES).parts)
        shutil.copy(path, folder / name)
    for page in ("README.md", "docs/tutorial.md", "docs/README.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        (folder / f"{page.replace('/', '_').lower()[:-3]}.py").write_text(block, encoding="utf-8")
    notebook = json.loads((EXAMPLES / "live_plot.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (folder / "display.py").write_text(DISPLAY, encoding="utf-8")
    (folder / "live_plot.py").write_text(
        "from display import display\n" + "\n\n".join(cells) + "\n", encoding="utf-8"
    )
    return folder


def test_mypy_accepts_the_examples(programs):
    pytest.importorskip("mypy")

    # The configuration and the cache are those of `make check`, so that only the examples are read.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *sorted(programs.glob("*.py"))],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_pyright_accepts_the_examples(programs):
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no basedpyright in the environment of the tests")
    rules = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT), *map(str, ROOT.glob("plugins/*"))]}
    # As for mypy: before 3.12, types do not show that an array of numpy is a buffer.
    rules |= {"pythonVersion": "3.12"} | dict.fromkeys(OTHERS, "none")
    (programs / "pyrightconfig.json").write_text(json.dumps(rules), encoding="utf-8")

    done = subprocess.run(
        [program, "--pythonpath", sys.executable, "."],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
