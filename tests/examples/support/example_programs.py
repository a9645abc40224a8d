"""The programs in examples/, imported into this process with addresses that no other process uses."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from laboratory.pressure import Bound

EXAMPLES = Path(__file__).parents[3] / "examples"

_PID = os.getpid()
HOST = f"127.17.{_PID >> 8 & 0xFF}.{_PID & 0xFF}"
# The last byte of a group is odd.
GROUP = f"239.{_PID >> 15 & 0xFF}.{_PID >> 7 & 0xFF}.{_PID << 1 & 0xFF | 1}"


def with_own_addresses(source: str) -> str:
    """Replace addresses; the interface of multicast stays, because no other address belongs to it."""
    kept = re.sub(r'(interface(=|", default="))127\.0\.0\.1', r"\1LOOPBACK", source)
    return kept.replace("224.0.1.77", GROUP).replace("127.0.0.1", HOST).replace("LOOPBACK", "127.0.0.1")


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import an example by its path in examples/."""
    path = EXAMPLES / name
    module = ModuleType(f"example_{path.stem}")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(with_own_addresses(path.read_text(encoding="utf-8")), path, "exec"), module.__dict__)
    return module


@contextmanager
def in_seconds(most: float) -> Iterator[None]:
    """Assert that an example takes less than `most` seconds, as its README promises, on an idle machine."""
    bound = Bound(most)
    yield
    assert not bound.is_over(), bound


def in_half_a_minute() -> AbstractContextManager[None]:
    """Assert that an example with defaults takes less than 30 s on an idle machine."""
    return in_seconds(30)
