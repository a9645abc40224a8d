"""A sending driver whose reader has accepted its connection."""

from __future__ import annotations

import pytest
from writing import Writing


@pytest.fixture
def writing(tmp_path):
    with Writing(tmp_path) as made:
        made.accept()
        yield made
