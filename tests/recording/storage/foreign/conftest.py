"""Recordings that the real Aeron Archive has made."""

import pytest
from packed_archive import unpack


@pytest.fixture
def folder(tmp_path):
    """Return the folder of an Archive that was killed."""
    return unpack(tmp_path / "archive")
