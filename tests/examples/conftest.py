"""The programs in examples/, run in this process with addresses that no other process uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Seconds: each example takes less than 30, and a loaded machine must not fail a test.
TIMEOUT_S = 180

_PID = os.getpid()
HOST = f"127.17.{_PID >> 8 & 0xFF}.{_PID & 0xFF}"
# The last byte of a group is odd.
GROUP = f"239.{_PID >> 15 & 0xFF}.{_PID >> 7 & 0xFF}.{_PID << 1 & 0xFF | 1}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.system)
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def with_own_addresses(source: str) -> str:
    """Replace addresses; an interface for multicast stays, since only that address belongs to it."""
    kept = source.replace("interface=127.0.0.1", "interface=LOOPBACK").replace("224.0.1.77", GROUP)
    return kept.replace("127.0.0.1", HOST).replace("LOOPBACK", "127.0.0.1")


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
