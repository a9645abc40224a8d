"""The fault program stops at the start, with the reason, if what it runs cannot work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from laboratory import command, network, soak, trial
from laboratory.network import Network, ip
from laboratory.plan import LEFT, RIGHT, make_plan
from laboratory.pressure import Bound, stalled_s
from laboratory.rig import StoppedError


@pytest.fixture
def pressure(tmp_path):
    path = tmp_path / "cpu"

    def set_stalled(seconds):
        path.write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={int(seconds * 1e6)}\nfull total=0\n")
        return path

    return set_stalled


def test_a_bound_is_extended_by_the_time_in_which_tasks_waited_for_a_processor(pressure, monkeypatch):
    times = iter((0, 11, 11, 11, 39, 41))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    bound = Bound(10, pressure(100))

    assert bound.is_over()
    pressure(105)
    assert not bound.is_over()
    assert str(bound) == "tasks waited for a processor in 5.0 of 11.0 s"
    pressure(200)
    assert not bound.is_over()
    assert bound.is_over()


def test_a_kernel_without_pressure_stall_information_extends_no_bound(tmp_path):
    assert stalled_s(tmp_path / "missing") == 0


def test_sources_newer_than_the_compiled_modules_are_refused(tmp_path, monkeypatch):
    built, source = tmp_path / ".venv/.built", tmp_path / "source.pxd"
    built.parent.mkdir()
    for path in (built, source):
        path.touch()
    (tmp_path / "Makefile").write_text(".venv/.built: source.pxd\n\ttouch $@\n")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command.aeron_core, "__file__", str(tmp_path / "aeron_core/__init__.py"))

    os.utime(source, (1, 1))
    assert command.stale_modules() is None
    os.utime(built, (0, 0))
    assert "run make .venv/.built" in command.stale_modules()


def test_jobs_run_every_seed_and_return_those_with_violations(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; open({str(tmp_path)!r} + '/' + sys.argv[1], 'w'); sys.exit('4' in sys.argv[1])"
    )
    monkeypatch.setattr(sys, "argv", [str(program)])

    assert command.run_jobs(Namespace(seed=2, seeds=4, jobs=3, seconds=1.0, only=[], keep=None)) == [4]
    assert sorted(path.name for path in tmp_path.glob("--seed=*")) == [
        f"--seed={seed}" for seed in (2, 3, 4, 5)
    ]


def test_a_soak_ends_when_a_stream_stands_still(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "STANDSTILL_S", 0)
    run = soak.Soak(make_plan(1, 1), tmp_path)
    monkeypatch.setattr(soak, "progress", lambda rig: {"udp": 5})
    monkeypatch.setattr(run.rig.network, "probe", lambda machine, peer: None)
    run._check_progress()
    run.is_flowing = True
    run._check_progress()

    with pytest.raises(StoppedError):
        run._check_progress()

    assert "udp stands still" in run.rig.violations[0]


def test_a_soak_whose_queues_are_not_filled_ends_before_its_samples(tmp_path, monkeypatch):
    run = soak.Soak(make_plan(1, 1), tmp_path)
    monkeypatch.setattr(trial.Trial, "_start", lambda self: None)
    monkeypatch.setattr(run, "_start_warm_up", lambda name: subprocess.Popen(["false"]))
    monkeypatch.setattr(run.rig.network, "probe", lambda machine, peer: None)

    with pytest.raises(StoppedError):
        run._start()

    assert run.rig.violations[0] == "driver-left: its queues are not filled: warm_up.py ended with 1"
    run.tick()
    assert run.samples == []


def test_the_first_sample_of_a_soak_is_an_interval_after_its_queues_are_filled(tmp_path, monkeypatch):
    time_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: time_s)
    run = soak.Soak(make_plan(1, 1), tmp_path)
    monkeypatch.setattr(trial.Trial, "_start", lambda self: None)
    monkeypatch.setattr(run, "_await", lambda condition, *_: list(iter(condition, True)))
    monkeypatch.setattr(run, "_start_warm_up", lambda name: subprocess.Popen(["true"]))
    monkeypatch.setattr(run.rig.system, "is_running", lambda name: True)
    monkeypatch.setattr(run, "_sample", dict)
    time_s = 200.0
    run._start()

    for later_s in (0.1, 9.9, 10.1, 10.2, 20.1):
        time_s = 200.0 + later_s
        run.tick()

    assert [sample["time_s"] for sample in run.samples] == [10.1, 20.1]


def test_a_soak_writes_each_sample_at_once(tmp_path, monkeypatch):
    run = soak.Soak(make_plan(1, 1), tmp_path)
    run._is_warm = True
    monkeypatch.setattr(run.rig.system, "is_running", lambda name: True)
    monkeypatch.setattr(run, "_sample", lambda: {"driver-left descriptors": 5})

    run.tick()

    (line,) = (run.rig.folder / "samples.jsonl").read_text().splitlines()
    assert json.loads(line)["driver-left descriptors"] == 5


def test_a_signal_waits_until_a_run_has_removed_everything(tmp_path, monkeypatch):
    run, removed = trial.Trial(make_plan(1, 1), tmp_path), []
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))

    def remove():
        os.kill(os.getpid(), signal.SIGTERM)
        removed.append(run)

    monkeypatch.setattr(run.rig, "remove", remove)
    try:
        with pytest.raises(SystemExit):
            run._clean()
    finally:
        signal.signal(signal.SIGTERM, before)

    assert removed == [run]


@pytest.mark.netns
@pytest.mark.usefixtures("machines")
class TestMachines:
    """Between machines."""

    def test_a_run_without_a_network_stops_before_the_drivers_start(self, tmp_path, monkeypatch):
        start, stop = Network.start, Network.stop

        def start_stopped(self):
            start(self)
            self._switch.send_signal(signal.SIGSTOP)

        def stop_continued(self):
            self._switch.send_signal(signal.SIGCONT)
            return stop(self)

        monkeypatch.setattr(Network, "start", start_stopped)
        monkeypatch.setattr(Network, "stop", stop_continued)
        monkeypatch.setattr(network, "PROBE_S", 0.2)

        violations = command.run_seed(1, 1, keep=tmp_path)

        assert violations == [
            f"no packet passes from {one} to {other} before the drivers start: timed out"
            for one, other in ((LEFT, RIGHT), (RIGHT, LEFT))
        ]

    def test_a_system_that_does_not_start_ends_the_run_with_the_errors_of_the_drivers(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(trial, "START_S", 0)

        violations = command.run_seed(1, 60, keep=tmp_path)

        assert "do not start" in violations[0]
        assert "from left to right: packets pass" in violations
        assert "errors of driver-left: []" in violations

    def test_a_network_is_removed_although_its_switch_was_killed(self):
        machines = Network(1)
        machines.start()
        machines._switch.kill()

        assert machines.stop() == {}
        assert not any((Path("/run/netns") / name).exists() for name in machines.names.values())

    def test_what_a_killed_run_has_left_is_swept(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        name = f"{network.PREFIX}{dead.pid}-0-left"
        ip("netns", "add", name)
        (Path("/etc/netns") / name).mkdir(parents=True)
        left = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "60"])
        while not subprocess.run(["ip", "netns", "pids", name], capture_output=True, check=True).stdout:
            pass

        assert name in network.sweep()

        assert left.wait() == -signal.SIGKILL
        assert not (Path("/run/netns") / name).exists()
        assert not (Path("/etc/netns") / name).exists()
