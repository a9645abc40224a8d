"""The programs in examples/, run in this process with addresses that no other process uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from example_programs import EXAMPLES, with_own_addresses

#: Seconds: each example takes less than 30, and a loaded machine must not fail a test.
TIMEOUT_S = 180


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.system)
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that imports an example by its path in examples/."""

    def load(name: str) -> ModuleType:
        path = EXAMPLES / name
        module = ModuleType(f"example_{path.stem}")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(with_own_addresses(path.read_text(encoding="utf-8")), path, "exec"), module.__dict__)
        return module

    return load
