"""Fixtures for tests of several packages.

Built-in plugins are importable from a checkout that is built in place but not installed.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from aeron_core import MediaDriver

# No deadline: a busy machine must not fail a test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

PLUGINS = Path(__file__).parents[1] / "plugins"

for package in sorted(PLUGINS.glob("*/*_*/")):
    if importlib.util.find_spec(package.name) is None:
        sys.path.append(str(package.parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this test suite."""
    parser.addoption(
        "--write-compatibility",
        action="store_true",
        help="write docs/reference/compatibility.md from the results of tests/interop",
    )


@pytest.fixture
def driver() -> Iterator[MediaDriver]:
    """Run a media driver within this process, in a directory of its own."""
    with MediaDriver.launch_embedded() as driver:
        yield driver
