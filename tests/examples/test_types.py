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
#: Arrays of numpy wherever a message is given. Before 3.12, their types do not show that they are buffers.
ARRAYS = """
import numpy as np

import aeron_core
from aeron_core import resilient

data = np.zeros(64, np.uint8)
offsets = np.arange(0, 65, 32, dtype=np.int64)


def offer(publication: aeron_core.Publication, exclusive: aeron_core.ExclusivePublication) -> None:
    publication.offer(data)
    publication.offer([data, b"tail"])
    publication.offer_batch(data, offsets)
    publication.offer_many([data, data])
    exclusive.offer_block(data)


def offer_again(publication: resilient.ResilientPublication) -> None:
    publication.offer_batch(data, offsets)


async def send(publication: aeron_core.Publication) -> None:
    await aeron_core.aio.async_offer(publication, data)
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


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_mypy_accepts_a_program_with_arrays_on_each_python(version, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "batches.py").write_text(ARRAYS, encoding="utf-8")
    # A package that is installed is not checked itself, as for a user.
    others = "[mypy]\n[mypy-aeron_core.*]\nfollow_imports = silent\n"
    (tmp_path / "mypy.ini").write_text(others, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-version", version, "batches.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_pyright_accepts_the_examples(programs, version):
    program = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no basedpyright in the environment of the tests")
    rules = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT), *map(str, ROOT.glob("plugins/*"))]}
    rules |= {"pythonVersion": version} | dict.fromkeys(OTHERS, "none")
    (programs / "pyrightconfig.json").write_text(json.dumps(rules), encoding="utf-8")

    done = subprocess.run(
        [program, "--pythonpath", sys.executable, "."],
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
