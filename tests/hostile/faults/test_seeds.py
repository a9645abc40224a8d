"""Five short runs of the fault program; `tools/faults` runs as many as wanted."""

from __future__ import annotations

import pytest
from laboratory.command import run_seed
from laboratory.plan import KINDS, make_plan

SECONDS = 4
#: Their plans have all kinds of faults.
SEEDS = (6, 14, 26, 29, 56)


def test_a_seed_makes_one_plan():
    assert make_plan(7, 30) == make_plan(7, 30)
    assert make_plan(7, 30) != make_plan(8, 30)


def test_plans_contain_all_kinds_of_faults():
    assert {fault.kind for seed in range(50) for fault in make_plan(seed, 10).faults} == set(KINDS)
    assert {fault.kind for seed in SEEDS for fault in make_plan(seed, SECONDS).faults} == set(KINDS)


@pytest.mark.netns
@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_of_a_whole_system_violate_no_invariant(seed, tmp_path):
    assert run_seed(seed, SECONDS, keep=tmp_path) == []
