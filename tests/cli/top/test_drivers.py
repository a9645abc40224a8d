"""Drivers that `aeron-core top` shows while they run, end, come back, or are damaged."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import aeron_core

pytest.importorskip("textual")

from top_view import SMALL, driven, screen_text, table

from aeron_core.cli.top.sources import DriverStatus, LiveSource
from aeron_core.cli.top.tables import driver_rows, error_rows


def test_a_dead_driver_is_shown_with_its_errors_and_losses(dead_directory):
    async def steps(app, pilot):
        await pilot.press("2")
        (driver,) = table(app, "drivers")
        assert (driver["state"], driver["errors"], driver["lost"]) == ("ended", "1", "64 bytes")

        await pilot.press("3")
        (error,) = table(app, "errors")
        assert error["error"] == "(11) something went wrong"
        await pilot.press("enter")
        await pilot.pause()
        assert "error: (11) something went wrong" in screen_text(app)

    driven(LiveSource([dead_directory]), steps)


def test_a_driver_that_goes_away_and_comes_back_is_shown_so(tmp_path):
    directory = tmp_path / "driver"
    settings = {"aeron_dir": directory, **SMALL}

    async def steps(app, pilot):
        async def state():
            await app.refresh_moment()
            await pilot.pause()
            await pilot.press("2")
            (found,) = table(app, "drivers")
            return found["state"]

        assert await state() == "not readable"
        with aeron_core.MediaDriver(settings, invoker=True) as driver:
            driver.do_work()
            assert await state() == "alive"
        assert await state() == "ended"
        shutil.rmtree(directory)
        assert await state() == "gone"
        with aeron_core.MediaDriver(settings, invoker=True) as driver:
            driver.do_work()
            assert await state() == "alive"
            assert "is alive again" in screen_text(app)

    driven(LiveSource([directory]), steps)


def test_a_driver_that_was_started_again_has_no_rates_at_first(tmp_path):
    settings = {"aeron_dir": tmp_path / "driver", **SMALL}
    source = LiveSource([tmp_path / "driver"])
    events = []
    for _ in range(2):
        # The start of a driver is known to a millisecond.
        start_ms = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == start_ms:
            os.sched_yield()
        with aeron_core.MediaDriver(settings, invoker=True) as driver:
            driver.do_work()
            moment = source.read()
            events += moment.events
            assert moment.drivers[0].rates is None

    assert [f"was started again: process {os.getpid()}" in event for event in events] == [True]


def test_a_damaged_directory_is_a_problem_and_no_error(tmp_path):
    (tmp_path / "cnc.dat").write_bytes(bytes(5000))

    async def steps(app, pilot):
        await pilot.press("3")
        assert "cnc.dat" in table(app, "errors")[0]["error"]
        await pilot.press("2")
        assert table(app, "drivers")[0]["state"] == DriverStatus.UNREADABLE

    driven(LiveSource([tmp_path]), steps)


def test_a_driver_whose_link_was_deleted_is_shown_once(tmp_path):
    link = tmp_path / "link"
    with aeron_core.MediaDriver({"aeron_dir": tmp_path / "driver", **SMALL}, invoker=True) as driver:
        driver.do_work()
        link.symlink_to(driver.aeron_dir)
        source = LiveSource([link])
        assert [each.status for each in source.read().drivers] == [DriverStatus.ALIVE]

        link.unlink()
        moment = source.read()

        assert [(each.state.aeron_dir, each.status) for each in moment.drivers] == [(link, DriverStatus.GONE)]
        link.symlink_to(driver.aeron_dir)
        assert [each.status for each in source.read().drivers] == [DriverStatus.ALIVE]


def test_a_driver_that_is_gone_is_a_driver_and_no_error(tmp_path):
    with aeron_core.MediaDriver({"aeron_dir": tmp_path / "driver", **SMALL}, invoker=True) as driver:
        driver.do_work()
        source = LiveSource([driver.aeron_dir])
        source.read()
    shutil.rmtree(tmp_path / "driver")

    moment = source.read()

    assert [row.cells[1].text for row in driver_rows(moment)] == ["gone"]
    assert error_rows(moment) == []


def test_a_driver_in_a_directory_of_any_name_is_shown_with_the_name_escaped_until_it_is_deleted():
    async def steps(app, pilot):
        async def states():
            # Of a driver that is invoked, the heartbeat is old on a machine with much load.
            if not driver.is_closed:
                driver.do_work()
            await app.refresh_moment()
            await pilot.pause()
            await pilot.press("2")
            assert "\x1b" not in screen_text(app)
            return [row["state"] for row in table(app, "drivers") if row["directory"] == shown]

        assert await states() == ["alive"]
        driver.close()
        assert await states() == ["ended"]
        shutil.rmtree(driver.aeron_dir)
        assert await states() == ["gone"]

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        settings = {"aeron_dir": Path(folder, "\x1b[31mtutorial"), **SMALL}
        shown = f"{folder}/\\x1b[31mtutorial"
        with aeron_core.MediaDriver(settings, invoker=True) as driver:
            driver.do_work()
            driven(LiveSource(), steps)
