"""The README of the examples and the page in docs/ list every example, with commands that exist."""

from __future__ import annotations

import ast
import re

import pytest
from example_programs import EXAMPLES

ROOT = EXAMPLES.parent
PROGRAMS = sorted(
    path.relative_to(EXAMPLES)
    for path in EXAMPLES.rglob("*")
    if path.suffix in {".py", ".ipynb"} and not path.parent.name.startswith(".")
)
COMMAND = re.compile(r"(?:python|jupyter notebook) (examples/[\w/]+\.(?:py|ipynb))")


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_an_example_is_listed_with_its_command(program):
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")

    (row,) = [line for line in readme.splitlines() if line.startswith("| [") and f"]({program})" in line]
    assert f"examples/{program}" in COMMAND.findall(row)
    assert f"](../examples/{program})" in page
    if program.suffix == ".py":
        text = (EXAMPLES / program).read_text(encoding="utf-8")
        assert f"examples/{program}" in COMMAND.findall(ast.get_docstring(ast.parse(text)) or "")


def test_nine_examples_are_listed_and_their_commands_exist():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert len(PROGRAMS) == len([line for line in readme.splitlines() if line.startswith("| [")]) == 9
    assert {path for path in COMMAND.findall(readme) if not (ROOT / path).is_file()} == set()


def test_every_picture_is_shown_and_small():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    pictures = sorted((EXAMPLES / "pictures").iterdir())
    assert len(pictures) == 3
    assert [path.name for path in pictures if f"](pictures/{path.name})" not in readme] == []
    assert all(path.stat().st_size < 50_000 for path in pictures)
