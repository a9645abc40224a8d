"""`aeron-core top` on drivers that run, have ended, or were recorded."""

import asyncio
import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from observed import records_of, snapshot

import aeron_core
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation import CounterHistoryWriter, DriverObserver

pytest.importorskip("textual")

from textual.widgets import DataTable

from aeron_core.cli.top.app import DetailScreen, TopApp
from aeron_core.cli.top.playback import Playback
from aeron_core.cli.top.sources import DriverStatus, LiveSource, Moment, ObservedDriver
from aeron_core.cli.top.tables import driver_rows, error_rows, stream_rows

SMALL = {
    "counters_buffer_length": "1m", "term_buffer_length": "64k", "ipc_term_buffer_length": "64k",
    "timer_interval_ns": "100ms",
}  # fmt: skip
SIZES = [(80, 24), (160, 50)]
#: An interval that does not end during a test: tests update the view themselves.
NEVER = 1e6


def driven(source, steps, size=(160, 50)):
    """Run the view of a source, and `steps`, a coroutine with the application and its pilot as arguments."""

    async def run():
        app = TopApp(source, NEVER)
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())


def lines(app):
    """Return the lines that the terminal shows."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def screen_text(app):
    """Return what the terminal shows, with words apart by one blank."""
    return " ".join(" ".join(lines(app)).split())


def table(app, name):
    """Return the cells of a table by its columns, row by row."""
    widget = app.screen_stack[0].query_one(f"#{name}", DataTable)
    names = [str(column.label) for column in widget.ordered_columns]
    return [
        dict(zip(names, (str(cell) for cell in widget.get_row_at(number)), strict=True))
        for number in range(widget.row_count)
    ]


def tables(app):
    return table(app, "streams")


async def loaded(app):
    """Wait until all of a history was read."""
    while not app._playback.is_loaded:
        await asyncio.sleep(0)
    await app.refresh_moment()


@pytest.fixture
def slow_ipc():
    """A driver with a publication that its only subscriber, which does not poll, holds back: driver, client."""
    with (
        aeron_core.MediaDriver.launch_embedded(SMALL) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_subscription("aeron:ipc", 7),
        client.add_publication("aeron:ipc", 7) as publication,
        client.add_publication("aeron:ipc", 8),
    ):
        publication.await_connected(timeout=30)
        while publication.offer(bytes(1000)) > 0:
            pass
        # A client adds its process to the label of its heartbeat once it has found that counter.
        observer = DriverObserver(driver.aeron_dir)
        while not all(each.pid for each in observer.snapshot().clients.values()):
            os.sched_yield()
        yield driver


@pytest.mark.parametrize("size", SIZES)
def test_the_culprit_is_named_on_each_size_of_a_terminal(slow_ipc, size):
    async def steps(app, pilot):
        await app.refresh_moment()
        await pilot.pause()

        text = screen_text(app)
        assert f"of process {os.getpid()} holds stream 7 back, " in text
        assert "behind, and does not poll" in text
        assert all(len(line) <= size[0] for line in lines(app))
        assert [row["stream"] for row in tables(app)] == ["7", "8"]
        assert f"process {os.getpid()}" in tables(app)[0]["limited by"]

    driven(LiveSource([slow_ipc.aeron_dir]), steps, size)


@pytest.mark.parametrize("size", SIZES)
def test_a_stream_is_shown_in_detail_with_its_parties(slow_ipc, size):
    async def steps(app, pilot):
        await pilot.press("enter")
        await pilot.pause()

        text = screen_text(app)
        assert "Stream 7, session" in text
        assert "publisher limit" in text
        assert "holds stream 7 back" in text
        assert "publisher window 32,768" in text
        assert " * 0 " in text  # the culprit is marked also without colours

        await pilot.press("escape")
        assert not isinstance(app.screen, DetailScreen)

    driven(LiveSource([slow_ipc.aeron_dir]), steps, size)


def test_positions_and_rates_are_those_of_the_counters(driver):
    channel = "aeron:udp?endpoint=localhost:0"
    with (
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_subscription(channel, 1001) as subscription,
    ):
        port = subscription.resolved_endpoint()
        with client.add_publication(f"aeron:udp?endpoint={port}", 1001) as publication:
            publication.await_connected(timeout=30)

            async def steps(app, pilot):
                position = publication.offer(bytes(1000))
                while publication.position > subscription.images[0].position:
                    subscription.poll(lambda *_: None, 10)
                    await asyncio.sleep(0)
                await app.refresh_moment()
                await pilot.pause()

                sent, received = tables(app)
                assert sent["publisher"] == received["subscriber"] == f"{position:,}"
                assert (sent["kind"], received["kind"]) == ("network", "image")
                assert sent["rate"] not in ("-", "0 bytes/s")
                assert received["lost"] == "0"
                assert "nothing holds a stream back" in screen_text(app)

            driven(LiveSource([driver.aeron_dir]), steps)


def test_rows_are_sorted_filtered_and_remain_selected(slow_ipc):
    async def steps(app, pilot):
        await pilot.press("down")
        await pilot.press("S")
        assert [row["stream"] for row in tables(app)] == ["8", "7"]
        assert app.query_one("#streams", DataTable).cursor_row == 0

        await pilot.press("s", "s", "s", "s")
        assert "by limited by" in screen_text(app)

        await pilot.press("slash", *"holds", "enter")
        assert [row["stream"] for row in tables(app)] == ["7"]
        assert "filter: holds" in screen_text(app)

        await pilot.press("escape")
        assert len(tables(app)) == 2

    driven(LiveSource([slow_ipc.aeron_dir]), steps)


def test_a_driver_leads_to_its_streams_and_the_view_can_be_paused(slow_ipc):
    async def steps(app, pilot):
        await pilot.press("2")
        assert table(app, "drivers")[0]["state"] == "alive"
        await pilot.press("enter")
        assert f"filter: {slow_ipc.aeron_dir.name}" in screen_text(app)
        assert len(tables(app)) == 2

        await pilot.press("space")
        assert "PAUSED" in lines(app)[0]
        await pilot.press("space", "question_mark")
        await pilot.pause()
        assert "this help" in screen_text(app)
        await pilot.press("escape", "tab", "tab")
        assert app.query_one("#errors").has_focus

    driven(LiveSource([slow_ipc.aeron_dir]), steps)


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


HOSTILE = "aeron:udp?endpoint=[red]x[/red]\x1b[2J\n\u4e2d"


@pytest.fixture
def history(tmp_path):
    """A history of 100 s; from the 50th on, the subscriber of stream 1001 does not poll."""
    pytest.importorskip("pyarrow")
    losses = (LossEntry(1, 64, 2, 3, 7, 1001, HOSTILE, HOSTILE),)
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        for number in range(100):
            read = min(number, 50) * 1000
            sent = min(number * 1000, read + 20_000)
            records = records_of(HOSTILE, pub_pos=min(number * 1000, sent + 4000), pub_lmt=read + 30_000,
                                 snd_pos=sent, snd_lmt=read + 20_000, rcv_hwm=sent, rcv_pos=sent,
                                 sub_pos=read)  # fmt: skip
            writer.write(replace(snapshot(*records, at_s=number), losses=losses))
    return writer.path


@pytest.mark.parametrize("size", SIZES)
def test_a_history_is_stepped_and_sought(history, size):
    async def steps(app, pilot):
        await loaded(app)
        await pilot.press("full_stop", "full_stop", "comma")
        assert "PAUSED x1 2/100 1.0 of 99.0 s" in " ".join(lines(app)[0].split())
        assert tables(app)[0]["rate"] == "1.0 kB/s"
        assert "nothing holds a stream back" in screen_text(app)

        await pilot.press("g", *"80%", "enter")
        await pilot.pause()
        assert "80/100" in lines(app)[0]
        assert "holds stream 1001 back, 20.0 kB behind, and does not poll" in screen_text(app)

        await pilot.press("enter")
        await pilot.pause()
        assert "[red]x[/red]\\x1b[2J\\n" in "".join(lines(app))
        assert "lost from" in screen_text(app)
        await pilot.press("escape", "g", *"soon", "enter")
        await pilot.pause()
        assert "must be" in screen_text(app)

    driven(Playback(history, 1.0), steps, size)


def test_a_history_is_played_at_its_speed_until_its_end(history):
    playback = Playback(history, 1.0)
    playback.advance(5)
    assert playback.index == 0
    playback.load()

    playback.advance(10)
    assert (playback.index, playback.is_playing) == (10, True)
    playback.change_speed(2.0)
    playback.advance(10)
    assert playback.index == 30
    playback.toggle()
    playback.advance(10)
    assert playback.index == 30
    playback.toggle()
    playback.advance(1000)
    assert (playback.index, playback.is_playing) == (99, False)
    playback.toggle()
    assert (playback.index, playback.is_playing) == (0, True)


@pytest.mark.parametrize(
    ("goal", "index"),
    [("12", 11), ("50%", 50), ("90s", 90), ("1.5min", 90), ("1h", 99), ("0", 0), ("999999", 99)],
)
def test_a_place_in_a_history_is_sought(history, goal, index):
    playback = Playback(history, 1.0)
    playback.load()

    playback.seek_text(goal)

    assert playback.index == index


def test_a_long_history_is_thinned(history, monkeypatch):
    monkeypatch.setattr("aeron_core.cli.top.playback._MOST_COUNTERS", 300)
    playback = Playback(history, 1.0)

    playback.load()

    assert playback.stride == 4
    assert playback.count == 25
    playback.seek_text("50s")
    assert playback.elapsed_s == 48.0
    assert playback.read().drivers[0].rates.seconds == 4.0


def test_the_end_of_the_view_stops_the_reading_of_a_history(history):
    playback = Playback(history, 1.0)

    async def steps(app, pilot):
        assert not playback.is_stopped

    driven(playback, steps)

    assert playback.is_stopped
    stopped = Playback(history, 1.0)
    stopped.is_stopped = True
    stopped.load()
    assert (stopped.count, stopped.is_loaded) == (1, False)


def test_a_history_that_is_cut_is_shown_up_to_there(history):
    history.write_bytes(history.read_bytes()[:-50])

    async def steps(app, pilot):
        await loaded(app)
        await pilot.pause()
        assert "/99" in lines(app)[0]
        assert "not followed: its recorder still runs or was killed" in lines(app)[0]

    driven(Playback(history, 1.0), steps)


@pytest.mark.parametrize("is_coloured", [True, False])
def test_without_colours_what_needs_attention_is_text(slow_ipc, monkeypatch, is_coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not is_coloured:
        monkeypatch.setenv("NO_COLOR", "1")

    async def steps(app, pilot):
        await app.refresh_moment()
        await pilot.pause()
        # Red of the theme that rich draws pictures with.
        assert ("#cc555a" in app.export_screenshot()) is is_coloured
        assert "holds stream 7 back" in screen_text(app)

    driven(LiveSource([slow_ipc.aeron_dir]), steps)


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ([], 2, "top needs a terminal"),
        (["--interval", "0"], 2, "--interval=0.0: must be more than 0"),
        (["--history", "a", "--aeron-dir", "b"], 2, "--history and --aeron-dir=b: only one of them"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(aeron, options, code, text):
    outcome = aeron("top", *options)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1)
    assert text in outcome.err


def test_the_refusal_without_a_terminal_names_other_commands(aeron):
    assert "`aeron-core streams` or `aeron-core stat`" in aeron("top").err


def test_without_textual_the_extra_is_named(aeron, monkeypatch):
    monkeypatch.setattr("aeron_core.cli.top.top._check_terminal", lambda: None)
    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith(("textual.", "aeron_core.cli.top.app"))]:
        monkeypatch.delitem(sys.modules, name)

    outcome = aeron("top")

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "pip install 'aeron-core[top]'" in outcome.err


def test_a_history_that_cannot_be_read_is_reported_in_one_line(aeron, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("aeron_core.cli.top.top._check_terminal", lambda: None)
    (tmp_path / "history.arrows").write_bytes(b"nonsense")

    outcome = aeron("top", "--history", tmp_path / "history.arrows")

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)


@pytest.mark.system
@pytest.mark.parametrize("ending", [b"q", b"\x03", signal.SIGTERM])
def test_on_a_terminal_it_ends_by_a_key_or_a_signal_and_restores_the_terminal(tmp_path, ending):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "aeron_core", "top", "-d", str(tmp_path)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    output = b""
    try:
        while b"STREAMS" not in output:
            output += os.read(leader, 65_536)
        if isinstance(ending, bytes):
            os.write(leader, ending)
        else:
            process.send_signal(ending)
        # A terminal whose last process has ended reports an error.
        with contextlib.suppress(OSError):
            while data := os.read(leader, 65_536):
                output += data
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert b"Traceback" not in output
    # Source: xterm control sequences: leave the alternate screen, show the cursor.
    assert b"\x1b[?1049l" in output
    assert b"\x1b[?25h" in output


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


def test_what_was_lost_is_shown_with_its_share_of_what_was_received():
    losses = (LossEntry(1, 96, 2, 3, 7, 1001, "aeron:udp", "1.2.3.4:5"),)
    lossy = replace(snapshot(*records_of(rcv_hwm=8000, rcv_pos=8000)), losses=losses)

    (row,) = stream_rows(Moment(0, (ObservedDriver(lossy.driver, DriverStatus.ALIVE, lossy),)))

    assert "96 bytes, 1.2 %" in [cell.text for cell in row.cells]
