"""A recording in a temporary folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aeron_core.testing.recordings import RecordingUnderTest


@pytest.fixture
def written(tmp_path: Path) -> RecordingUnderTest:
    return RecordingUnderTest.begin(tmp_path / "archive")


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., RecordingUnderTest]:
    return lambda **changes: RecordingUnderTest.begin(tmp_path / "archive", **changes)
