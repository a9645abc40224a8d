"""A driver with a PAIR socket, on a simulated network."""

from __future__ import annotations

import pytest
from pairing import Pairing


@pytest.fixture
def pairing(tmp_path):
    """Return a function that starts drivers with a PAIR socket; they are closed after the test."""
    made = []

    def make(*arguments, **options):
        made.append(Pairing(tmp_path / str(len(made)), *arguments, **options))
        return made[-1]

    yield make
    for simulation in made:
        simulation.close()
