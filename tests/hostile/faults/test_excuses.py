"""What the fault program accepts of processes that were started on a machine without a driver, or an overloaded one."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest
from laboratory.faults import Faults
from laboratory.plan import Fault, make_plan
from laboratory.processes import System
from laboratory.rig import Rig

NO_DRIVER = "no media driver is accessible in d within 3000 ms"
NO_ANSWER = "add_subscription 'aeron:ipc' 2001: no answer from the media driver within 3000 ms"


class FakeSystem(SimpleNamespace):
    """A recorder of some age that has printed `output`, and its driver."""

    output, driver_age_s, recorder_age_s, stalled, code = "", 60, 4, 0.0, 1

    def last_output(self, name):
        return self.output

    def is_running(self, name):
        return True

    def age_s(self, name):
        return self.driver_age_s if name.startswith("driver") else self.recorder_age_s

    def stalled_share(self, name):
        return self.stalled

    def end(self, name, number):
        return self.code


@pytest.fixture
def rig(tmp_path):
    return Rig(make_plan(1, 1), tmp_path)


@pytest.mark.parametrize(
    ("state", "may_end"),
    [
        ({"output": NO_DRIVER, "driver_age_s": 2}, True),
        ({"output": NO_DRIVER, "driver_age_s": 60}, False),
        ({"output": NO_ANSWER, "stalled": 0.9}, True),
        ({"output": NO_ANSWER, "stalled": 0.1}, False),
        ({"output": NO_DRIVER, "stalled": 0.9}, False),
        ({"output": f"disconnected\n{NO_ANSWER}", "driver_age_s": 2, "stalled": 0.9}, False),
        ({"output": "segmentation fault", "driver_age_s": 2, "stalled": 0.9}, False),
    ],
)
def test_a_recorder_may_end_at_its_start_if_no_driver_can_answer(rig, state, may_end):
    rig.system = FakeSystem(**state)

    assert rig.may_end("recorder-left") is may_end


@pytest.mark.parametrize(
    ("code", "is_starting", "is_violation"), [(15, False, False), (-15, False, True), (-15, True, False)]
)
def test_a_signal_may_kill_a_driver_that_starts(rig, code, is_starting, is_violation):
    rig.system = FakeSystem(code=code)
    if is_starting:
        rig.starting["driver-left"] = 0

    faults = Faults(rig, lambda time_s, action: None)
    faults.begin(Fault(0, "restart-driver", "driver-left", 0, {"signal": signal.SIGTERM}))

    assert bool(rig.violations) is is_violation


@pytest.mark.parametrize("may_end", [False, True])
def test_a_process_that_ended_is_started_again_and_reported_without_a_reason(tmp_path, may_end):
    found = []
    system = System(
        tmp_path, found.append, lambda name: may_end and system.last_output(name).endswith("why\n")
    )
    system.add("it", ["sh", "-c", "echo why"], {})
    system.start("it")
    first = system.pid("it")
    system._running["it"].wait()

    system.check()

    assert system.pid("it") != first
    assert len(found) == (not may_end)
    system._running["it"].wait()
