import time

import pytest

import aeron_core
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.protocol.cnc import CncFile


def test_a_live_driver_has_a_heartbeat_and_exit_code_0(aeron, tmp_path):
    with aeron_core.MediaDriver({"aeron_dir": tmp_path / "driver"}, invoker=True) as driver:
        driver.do_work()
        outcome = aeron("stat", "--alive", "-d", driver.aeron_dir)

    assert outcome.code == 0
    assert outcome.out.startswith("driver with pid ")
    assert len(outcome.out.splitlines()) == 1


@pytest.mark.parametrize(("age_ms", "text"), [(11_000, "has been silent for 11"), (None, "has ended")])
def test_a_silent_driver_has_exit_code_1(aeron, dead_directory, age_ms, text):
    heartbeat_ms = 0 if age_ms is None else int(time.time() * 1000) - age_ms
    ManyToOneRingBuffer(
        CncFile.open(dead_directory / "cnc.dat").to_driver
    ).consumer_heartbeat_ms = heartbeat_ms

    outcome = aeron("stat", "--alive", "-d", dead_directory)

    assert outcome.code == 1
    assert text in outcome.err
    assert not outcome.out


def test_a_directory_without_a_driver_has_exit_code_1(aeron, tmp_path):
    assert aeron("stat", "--alive", "-d", tmp_path).code == 1


@pytest.mark.parametrize("other", [["--json"], ["--format", "prometheus"], ["--history", "x.arrows"]])
def test_a_health_check_has_no_other_format(aeron, dead_directory, other):
    outcome = aeron("stat", "--alive", *other, "-d", dead_directory)

    assert outcome.code == 2
    assert "--alive prints a line only" in outcome.err
