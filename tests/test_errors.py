"""One exception tree: every exception class of the product is in it, and its docstring shows all of it."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest

from aeron_core import errors

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "aeron_core", *sorted(ROOT.glob("plugins/*/*_*/")))

_BUILTIN = {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
#: `│   ├── ChannelUriError(ValueError)   meaning`: four columns a level.
_NODE = re.compile(r"^    (?P<indent>[│ ]*(?:[├└]── )?)(?P<name>[A-Z]\w+)(?:\((?P<also>\w+)\))?", re.M)
#: A class statement, with bases on any number of lines.
_CLASS = re.compile(r"^ *class (?P<name>\w+)(?:\((?P<bases>[^:]*)\))?:", re.M)


def product_exceptions() -> dict[str, list[str]]:
    """Return the bases of every exception class of the product, found in its sources.

    Each worker of pytest-xdist does this when it collects: to parse whole modules takes 20 times as long.
    """
    bases = {
        statement["name"]: bases_of(statement["bases"])
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
        for statement in _CLASS.finditer(path.read_text(encoding="utf-8"))
    }

    def is_exception(name: str) -> bool:
        return name in _BUILTIN or any(is_exception(base) for base in bases.get(name, ()))

    return {name: bases[name] for name in bases if is_exception(name)}


def bases_of(arguments: str | None) -> list[str]:
    """Return the names of the bases in the parentheses of a class statement, without their modules."""
    call = ast.parse(f"bases({arguments or ''})", mode="eval").body
    assert isinstance(call, ast.Call)
    return [ast.unparse(base).rpartition(".")[2] for base in call.args]


def tree() -> dict[str, list[str]]:
    """Return the bases of each exception as the docstring of `errors.py` draws them."""
    drawn: dict[str, list[str]] = {}
    path: list[str] = []
    for node in _NODE.finditer(errors.__doc__ or ""):
        depth = len(node["indent"]) // 4
        path[depth:] = [node["name"]]
        drawn[node["name"]] = (
            [*path[depth - 1 : depth], *filter(None, [node["also"]])] if depth else ["Exception"]
        )
    return drawn


PRODUCT = product_exceptions()


def test_exceptions_of_core_and_plugins_are_found():
    assert PRODUCT["StorageError"] == ["DriverError", "OSError"]
    assert {"AeronError", "CommandRefusedError", "TlsFileError", "PipelineError"} <= set(PRODUCT)


@pytest.mark.parametrize("name", sorted(PRODUCT))
def test_an_exception_is_drawn_in_the_tree_below_its_base(name):
    assert tree().get(name) == PRODUCT[name]


def test_the_tree_draws_no_exception_that_does_not_exist():
    assert set(tree()) <= set(PRODUCT)
