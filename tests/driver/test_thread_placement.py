"""Names and processors of a driver's threads, as the operating system reports them."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from aeron_core.agent import cpuset
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import ConfigurationError
from aeron_core.protocol.cnc import CNC_FILE, CncFile

TASKS = Path("/proc/self/task")
NO_PROCESSOR = 255


def tasks() -> set[int]:
    return {int(task.name) for task in TASKS.iterdir()}


def names_of(tasks: set[int]) -> dict[str, int]:
    found = {}
    for task in tasks:
        # A thread of an earlier test may end here.
        with suppress(FileNotFoundError, ProcessLookupError):
            found[(TASKS / str(task) / "comm").read_text().rstrip("\n")] = task
    return found


@pytest.fixture
def launch(memory_path):
    drivers = []

    def start(**settings):
        driver = MediaDriver.launch(
            {
                "aeron_dir": memory_path / "aeron",
                "counters_buffer_length": "1m",
                "sender_idle_strategy": "sleep-ns",
                "receiver_idle_strategy": "sleep-ns",
                **settings,
            }
        )
        drivers.append(driver)
        return driver

    yield start
    for driver in drivers:
        driver.close()


@pytest.mark.parametrize(
    ("mode", "naming", "names"),
    [
        ("DEDICATED", "classic", {"conductor", "sender", "receiver"}),
        ("DEDICATED", "new", {"aeron-md-cnd", "aeron-md-snd", "aeron-md-rcv"}),
        ("SHARED_NETWORK", "new", {"aeron-md-cnd", "aeron-md-net"}),
        ("SHARED", "new", {"aeron-md-shd"}),
        ("SHARED", "classic", {"[sender,receive"}),
    ],
)
def test_the_system_shows_the_threads_by_name(launch, mode, naming, names):
    before = tasks()

    launch(threading_mode=mode, thread_naming=naming)

    assert set(names_of(tasks() - before)) == names


def test_an_agent_runs_on_its_configured_processor(launch):
    cpu = max(os.sched_getaffinity(0))
    before = tasks()

    launch(sender_cpu_affinity=cpu)

    names = names_of(tasks() - before)
    assert os.sched_getaffinity(names["sender"]) == {cpu}
    assert os.sched_getaffinity(names["receiver"]) == os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("naming", "names"),
    [
        ("classic", {"sender", "sender-2", "sender-3"}),
        ("new", {"aeron-md-snd", "aeron-md-snd-2", "aeron-md-snd-3"}),
    ],
)
def test_further_senders_have_numbers(launch, naming, names):
    before = tasks()

    launch(sender_threads=3, thread_naming=naming)

    assert names < set(names_of(tasks() - before))


def test_further_senders_run_on_the_next_processors(launch):
    allowed = os.sched_getaffinity(0)
    first = min((cpu for cpu in allowed if cpu + 1 in allowed), default=None)
    if first is None:
        pytest.skip("needs two processors with successive numbers")
    before = tasks()

    launch(sender_threads=2, sender_cpu_affinity=first)

    names = names_of(tasks() - before)
    assert os.sched_getaffinity(names["sender"]) == {first}
    assert os.sched_getaffinity(names["sender-2"]) == {first + 1}


def test_a_driver_whose_control_group_cannot_be_read_does_not_start(launch, tmp_path, monkeypatch):
    monkeypatch.setattr(cpuset.read_cpus, "__defaults__", (tmp_path / "none", tmp_path))
    before = tasks()

    with pytest.raises(ConfigurationError, match="cannot read the control group"):
        launch(cpuset_affinity=True)

    assert {"conductor", "sender", "receiver"}.isdisjoint(names_of(tasks() - before))


def test_an_unavailable_processor_is_recorded_and_the_driver_continues(launch):
    driver = launch(receiver_cpu_affinity=NO_PROCESSOR)

    log = CncFile.open(driver.aeron_dir / CNC_FILE, read_only=True).error_log
    [error] = read_errors(log)
    assert "failed to set thread affinity name=receiver, cpu_affinity_no=255" in error.text
    assert "WARNING: unable to apply affinity: must be one of 0" in error.text
    assert not driver.is_closed
