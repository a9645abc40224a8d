"""Fuzz targets, one module each.

A target has two functions. `check(data)` passes bytes to the product as a hostile peer, client or disk would, and
returns whether they were accepted; it handles the documented exceptions and raises AssertionError if an invariant does
not hold, so that any exception of it is a finding. `seeds()` returns inputs that are accepted; a fuzzer starts with
them and with the corpus of the target.
"""

from __future__ import annotations

import base64
import sys
import tomllib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
CORPORA = FOLDER.parent / "corpora"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.name.startswith("_"))


class Target(Protocol):
    def check(self, data: bytes) -> bool: ...

    def seeds(self) -> Iterable[bytes]: ...


def load(name: str) -> Target:
    """Return a target by its name; targets import the helpers of other tests, where pytest finds them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for folder in project["tool"]["pytest"]["ini_options"]["pythonpath"]:
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
    target: Target = import_module(f"targets.{name}")  # type: ignore[assignment]
    return target


def read_corpus(name: str) -> list[bytes]:
    """Return the inputs of the corpus of a target: one a line, in base64."""
    path = CORPORA / f"{name}.txt"
    return [base64.b64decode(line) for line in path.read_text("ascii").splitlines()] if path.exists() else []


def write_corpus(name: str, inputs: Iterable[bytes]) -> None:
    """Write the corpus of a target, the shortest inputs first."""
    CORPORA.mkdir(exist_ok=True)
    lines = [
        base64.b64encode(data).decode() for data in sorted(set(inputs), key=lambda data: (len(data), data))
    ]
    (CORPORA / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "ascii")
