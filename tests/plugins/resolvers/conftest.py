"""A simulation for drivers that resolve names."""

import pytest

from aeron_core.testing.pair import MS, Simulation


@pytest.fixture
def simulation(tmp_path):
    with Simulation(tmp_path, idle_step_ns=5 * MS) as simulation:
        yield simulation
