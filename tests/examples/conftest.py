"""Marks and time limits of the tests of examples, and a fixture that imports an example.

The example with Spark is tested in tests/plugins/spark/reading, with the session of the tests there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from example_programs import load

#: Seconds: each example takes less than 30, and a loaded machine must not fail a test.
TIMEOUT_S = 180


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.system)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that imports an example by its path in examples/."""
    return lambda name: load(name, monkeypatch)
