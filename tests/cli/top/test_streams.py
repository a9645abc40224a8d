"""Streams in the view of `aeron-core top`: parties, rates, sorting, and a stream in detail."""

import asyncio
import os
from dataclasses import replace

import pytest
from observed import records_of, snapshot

import aeron_core
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation import DriverObserver

pytest.importorskip("textual")

from textual.widgets import DataTable
from top_view import SIZES, SMALL, driven, lines, screen_text, table, tables

from aeron_core.cli.top.detail_screen import DetailScreen
from aeron_core.cli.top.sources import DriverStatus, LiveSource, Moment, ObservedDriver
from aeron_core.cli.top.tables import stream_rows


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


def test_what_was_lost_is_shown_with_its_share_of_what_was_received():
    losses = (LossEntry(1, 96, 2, 3, 7, 1001, "aeron:udp", "1.2.3.4:5"),)
    lossy = replace(snapshot(*records_of(rcv_hwm=8000, rcv_pos=8000)), losses=losses)

    (row,) = stream_rows(Moment(0, (ObservedDriver(lossy.driver, DriverStatus.ALIVE, lossy),)))

    assert "96 bytes, 1.2 %" in [cell.text for cell in row.cells]
