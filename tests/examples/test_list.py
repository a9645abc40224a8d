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
COMMAND = re.compile(r"(?:python|jupyter notebook|make -C) (examples/[\w/]+(?:\.py|\.ipynb)?)")


def command_of(program):
    """Return what the command of an example names: its file, or the folder with its Makefile."""
    has_makefile = (EXAMPLES / program.parent / "Makefile").is_file()
    return f"examples/{program.parent if has_makefile else program}"


def rows(readme):
    return [line for line in readme.splitlines() if line.startswith("| [")]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_an_example_is_listed_with_its_command(program):
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")

    (row,) = [line for line in rows(readme) if f"]({program})" in line]
    assert command_of(program) in COMMAND.findall(row)
    assert f"](../examples/{program})" in page
    if program.suffix == ".py":
        text = (EXAMPLES / program).read_text(encoding="utf-8")
        assert command_of(program) in COMMAND.findall(ast.get_docstring(ast.parse(text)) or "")


def test_twelve_examples_are_listed_and_their_commands_exist():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert len(PROGRAMS) == len(rows(readme)) == 12
    assert {path for path in COMMAND.findall(readme) if not (ROOT / path).exists()} == set()


def test_every_picture_is_shown_and_small():
    shown = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES.rglob("README.md"))

    pictures = sorted((EXAMPLES / "pictures").iterdir())
    assert len(pictures) == 6
    assert [path.name for path in pictures if f"pictures/{path.name})" not in shown] == []
    assert all(path.stat().st_size < 50_000 for path in pictures)
