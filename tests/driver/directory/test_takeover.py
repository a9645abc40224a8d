"""Directories of earlier drivers: that of a live one is refused, that of a dead one taken over."""

import os
import re
import threading
import time
from types import SimpleNamespace

import pytest
from left_directories import leave_behind, saved_errors

from aeron_core._native import wire
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.driver import directory as directory_module
from aeron_core.driver.directory import lock_directory
from aeron_core.errors import ActiveDriverError
from aeron_core.protocol.cnc import CNC_FILE, CncFile


def test_the_directory_of_a_live_driver_is_refused_and_the_driver_named(directory, start):
    leave_behind(directory, age_ms=4000)

    with pytest.raises(ActiveDriverError) as raised:
        start()

    assert f"active media driver detected in {directory}: pid 4242, last heartbeat 4" in str(raised.value)
    assert (directory / "publications" / "7.logbuffer").exists()


def test_the_directory_of_a_driver_that_runs_is_free_when_it_is_stopped(directory, start):
    leave_behind(directory, age_ms=1000, pid=os.getppid())

    with pytest.raises(
        ActiveDriverError, match=r"; stop it, or choose another directory with aeron_dir or AERON_DIR$"
    ):
        start()


def test_the_refusal_states_when_the_directory_of_a_killed_driver_is_free(directory, start, gone_pid):
    leave_behind(directory, age_ms=1000, pid=gone_pid)

    with pytest.raises(
        ActiveDriverError, match=r"no process here .* free in [0-4]\.\d s.*DELETE_ON_START=true"
    ):
        start()


def test_two_drivers_of_one_process_do_not_share_a_directory(start):
    start()

    with pytest.raises(ActiveDriverError, match=f"pid {os.getpid()}"):
        start()


def test_the_directory_of_a_driver_that_is_silent_for_too_long_is_taken_over(directory, start):
    leave_behind(directory, age_ms=5500)

    start()

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()
    assert os.listdir(directory / "publications") == []
    assert saved_errors(directory) == []


def test_the_directory_of_a_dead_driver_is_taken_over_although_the_clock_was_set_back(directory, start):
    leave_behind(directory, age_ms=-86_400_000)

    start(driver_timeout_ms=200)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


def test_the_directory_of_a_live_driver_is_refused_although_the_clock_was_set_back(directory, start):
    leave_behind(directory, age_ms=-86_400_000)
    ring = ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver)
    beat = threading.Timer(0.1, setattr, (ring, "consumer_heartbeat_ms", int(time.time() * 1000)))
    beat.start()

    with pytest.raises(ActiveDriverError):
        start(driver_timeout_ms=60_000)
    beat.join()


def test_the_directory_of_a_live_driver_is_refused_although_the_clock_was_set_forward(start):
    driver = start()
    driver.do_work()  # its next heartbeat follows a second later
    ring = ManyToOneRingBuffer(CncFile.open(driver.aeron_dir / CNC_FILE).to_driver)
    ring.consumer_heartbeat_ms -= 3_600_000
    has_ended = threading.Event()

    def run():
        while not has_ended.wait(0.001):
            driver.do_work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with pytest.raises(ActiveDriverError, match=r"last heartbeat \d{1,4} ms ago"):
            start(driver_timeout_ms=60_000)
    finally:
        has_ended.set()
        thread.join()
    assert (driver.aeron_dir / CNC_FILE).exists()


def test_the_directory_of_a_stuck_driver_is_taken_over_after_the_timeout(directory, start):
    leave_behind(directory, age_ms=5500)
    begin_s = time.monotonic()

    with lock_directory(directory):
        start(driver_timeout_ms=200)

    assert time.monotonic() - begin_s >= 0.2
    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


@pytest.fixture
def beat_in_the_wait(directory, gone_pid, monkeypatch):
    """Leaves a driver with a heartbeat of the future, and returns a function that sets what the wait finds."""
    leave_behind(directory, age_ms=-86_400_000, pid=gone_pid)
    ring = ManyToOneRingBuffer(CncFile.open(directory / CNC_FILE).to_driver)

    def beat(heartbeat_ms):
        def sleep(_):
            ring.consumer_heartbeat_ms = heartbeat_ms

        # Only in this module: another thread that sleeps would change the heartbeat before the wait reads it.
        clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=sleep)
        monkeypatch.setattr(directory_module, "time", clock)

    return beat


def test_the_directory_of_a_driver_that_closes_in_the_wait_after_the_clock_was_set_back_is_free(
    directory, start, beat_in_the_wait
):
    beat_in_the_wait(-1)

    start(driver_timeout_ms=60_000)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


def test_the_age_of_a_heartbeat_of_the_future_is_stated_as_0(start, beat_in_the_wait, capsys):
    beat_in_the_wait(int(time.time() * 1000) + 86_400_001)

    with pytest.raises(ActiveDriverError, match=r"last heartbeat 0 ms ago; .* is free in 60\.0 s"):
        start(driver_timeout_ms=60_000, dir_warn_if_exists=True)

    assert "INFO: Aeron driver heartbeat is 0 ms old\n" in capsys.readouterr().err


def test_the_liveness_timeout_of_a_silent_driver_is_a_setting(directory, start):
    leave_behind(directory, age_ms=5500)

    with pytest.raises(ActiveDriverError):
        start(driver_timeout_ms=60_000)


def test_the_directory_of_a_closed_driver_is_free_at_once(directory, start):
    start().close()

    assert CncFile.open(start().aeron_dir / CNC_FILE).pid == os.getpid()


def test_the_errors_of_a_dead_driver_are_saved_beside_its_directory(directory, start, capsys):
    leave_behind(directory, age_ms=10_000, errors=["the first", "the second", "the first"])

    start()

    (file,) = saved_errors(directory)
    # Source: aeron_driver.c, aeron_report_existing_errors; aeron_strutil.c, aeron_format_date.
    date = r"\d{4}-\d\d-\d\d \d\d[:-]\d\d[:-]\d\d\.\d{3}[+-]\d{4}"
    assert re.fullmatch(rf"aeron-{date}-error\.log", file.name)
    text = file.read_text()
    assert re.match(
        rf"\*\*\*\n2 observations from {date} to {date} for:\n .*the first\n\*\*\*\n1 observations from", text
    )
    assert text.endswith("\n\n2 distinct errors observed.\n")
    assert capsys.readouterr().err == f"WARNING: Existing errors saved to: {file}\n"


def test_errors_that_cannot_be_saved_do_not_prevent_the_start(directory, start, monkeypatch, capsys):
    leave_behind(directory, age_ms=10_000, errors=["the first"])
    # A name that is too long fails as a full disk does.
    monkeypatch.setattr("aeron_core.driver.directory.date_of", lambda _: "9" * 256)

    start()

    assert saved_errors(directory) == []
    assert "WARNING: existing errors not saved to: " in capsys.readouterr().err


@pytest.mark.parametrize("is_link", [False, True], ids=["file", "link"])
def test_saved_errors_replace_no_file_that_another_user_has_put_there(
    directory, start, monkeypatch, tmp_path, is_link
):
    leave_behind(directory, age_ms=10_000, errors=["the first"])
    monkeypatch.setattr("aeron_core.driver.directory.date_of", lambda _: "now")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    file = directory.with_name(f"{directory.name}-now-error.log")
    if is_link:
        file.symlink_to(victim)
    else:
        file.write_text("mine")

    start()

    assert file.read_text() == victim.read_text() == "mine"


@pytest.mark.parametrize("length", [-1, 8, 1 << 20])
def test_a_damaged_error_log_does_not_prevent_the_start_and_is_saved_up_to_the_damage(
    directory, start, capsys, length
):
    leave_behind(directory, age_ms=10_000, errors=["first", "later"])
    log = CncFile.open(directory / CNC_FILE).error_log
    log.put_i32(wire.ERROR_LOG_HEADER_LENGTH + len("(1) first") + 7, length)

    start()

    (file,) = saved_errors(directory)
    assert file.read_text().endswith(" (1) first\n\n1 distinct errors observed.\n")
    assert capsys.readouterr().err == (
        f"WARNING: error log of {directory} is damaged, number of entries before the damage: 1\n"
        f"WARNING: Existing errors saved to: {file}\n"
    )


def test_an_error_log_without_a_valid_entry_does_not_prevent_the_start(directory, start):
    leave_behind(directory, age_ms=10_000)
    CncFile.open(directory / CNC_FILE).error_log.put_i32(0, -1)

    start()

    assert saved_errors(directory) == []


def test_a_driver_that_is_starting_in_the_directory_is_waited_for(directory, start):
    leave_behind(directory, age_ms=0, is_ready=False)
    before = time.monotonic()

    start(driver_timeout_ms=50)

    assert time.monotonic() - before >= 0.05
    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()


def test_delete_on_start_deletes_even_the_directory_of_a_live_driver(directory, start):
    leave_behind(directory, age_ms=0, errors=["not worth keeping"])

    start(dir_delete_on_start=True)

    assert CncFile.open(directory / CNC_FILE).pid == os.getpid()
    assert saved_errors(directory) == []
