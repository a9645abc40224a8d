"""The fault program reports a driver whose private memory grows by more than its queues and pools."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from laboratory import memory
from laboratory.memory import POOLS_KB, QUEUES_KB, QUEUES_KB_PER_S, WARM_S, Memory
from laboratory.plan import make_plan
from laboratory.rig import Rig

START_KB = 40_000


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a machine with one driver: its clock, its private memory, the id of its process, and its idle streams."""
    machine = SimpleNamespace(now_s=0.0, private_kb=15_000, pid=1, idle=["udp"])
    machine.rig = Rig(make_plan(1, 1), tmp_path)
    machine.rig.system = SimpleNamespace(
        is_running=lambda name: name == "driver-left",
        pid=lambda name: machine.pid if name == "driver-left" else -1,
    )
    monkeypatch.setattr(memory, "status_of", lambda pid: {"RssAnon": machine.private_kb})
    monkeypatch.setattr(memory, "idle_since", lambda rig, time_s: machine.idle)
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: machine.now_s))
    return machine


@pytest.fixture
def measured(machine):
    """Return the measurement of a driver that has become warm with `START_KB`."""
    measured = Memory(machine.rig)
    for now_s, idle in ((0, ["udp"]), (WARM_S + 1, ["udp"]), (WARM_S + 2, [])):
        machine.now_s, machine.idle = now_s, idle
        if not idle:
            machine.private_kb = START_KB
        measured.sample()
    return measured


@pytest.mark.parametrize(
    ("seconds", "most"), [(0, 0), (4, 4 * QUEUES_KB_PER_S), (7200, QUEUES_KB)], ids=["0 s", "4 s", "2 h"]
)
def test_a_driver_may_grow_by_its_queues_and_pools(machine, measured, seconds, most):
    machine.now_s += seconds
    machine.private_kb = START_KB + POOLS_KB + most
    measured.check()
    assert machine.rig.violations == []

    machine.private_kb += 1
    measured.check()

    (violation,) = machine.rig.violations
    assert violation.startswith(f"leak: driver-left has grown by {POOLS_KB + most + 1} KB")


def test_a_driver_that_was_restarted_is_not_compared_with_the_one_before(machine, measured):
    machine.pid, machine.private_kb = 2, 4 * START_KB

    measured.sample()
    measured.check()

    assert machine.rig.violations == []
    assert machine.rig.figures["driver-left growth_kb"] is None
