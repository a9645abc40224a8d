"""`aeron-core top` at a driver of Aeron, as at ours: its streams, their positions, and what holds them back."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

import aeron_core

pytest.importorskip("textual")

from textual.widgets import DataTable

from aeron_core.cli.top.app import TopApp
from aeron_core.cli.top.sources import LiveSource

pytestmark = pytest.mark.interop

STREAM_ID = 1001
DEADLINE_S = 60
#: An interval that does not end during a test.
NEVER = 1e6


class View:
    """The view of a driver, without a terminal; each `streams` reads the driver anew."""

    def __init__(self, app, pilot):
        self._app, self._pilot = app, pilot

    async def streams(self):
        """Return the cells of the table of streams by kind, each a mapping by columns."""
        await self._app.refresh_moment()
        await self._pilot.pause()
        table = self._app.query_one("#streams", DataTable)
        names = [str(column.label) for column in table.ordered_columns]
        rows = [map(str, table.get_row_at(number)) for number in range(table.row_count)]
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return {row["kind"]: row for row in found if row["stream"] == str(STREAM_ID)}

    async def awaited(self, condition):
        """Return the streams once they meet a condition."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition(found := await self.streams()):
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.01)
        return found

    def text(self):
        strips = self._app.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        return " ".join(" ".join(lines).split())


def shown(directory, steps):
    """Run the view of a driver, and `steps`, a coroutine with a `View` as its argument."""

    async def run():
        app = TopApp(LiveSource([directory]), NEVER)
        async with app.run_test(size=(250, 50)) as pilot:
            await pilot.pause()
            await steps(View(app, pilot))

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["ours", "theirs"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_streams_positions_and_what_holds_them_back_are_shown(
    our_driver, foreign_driver, udp_channel, kind, medium
):
    directory = (our_driver if kind == "ours" else foreign_driver)()
    channel = udp_channel if medium == "udp" else "aeron:ipc"
    settings = aeron_core.ClientSettings(client_name="reader")
    with aeron_core.connect(directory, settings) as aeron:
        subscription = aeron.add_subscription(channel, STREAM_ID)
        publication = aeron.add_exclusive_publication(channel, STREAM_ID)
        publication.await_connected(DEADLINE_S)
        subscription.await_connected(DEADLINE_S)
        (image,) = subscription.images
        sent, received = ("ipc", "ipc") if medium == "ipc" else ("network", "image")

        async def steps(view):
            while publication.offer(bytes(1000)) < 0:
                await asyncio.sleep(0)
            while image.position < publication.position:
                subscription.poll(lambda buffer, header: None, 100)
                await asyncio.sleep(0)
            position = f"{publication.position:,}"

            of_network = "-" if medium == "ipc" else position

            def is_read(found):
                # A driver counts the positions of its publishers, sender and receiver now and then only.
                return (
                    set(found) == {sent, received}
                    and found[received]["subscriber"] == position == found[sent]["publisher"]
                    and found[sent]["sender"] == of_network == found[received]["receiver"]
                )

            read = await view.awaited(is_read)
            for row in read.values():
                assert (row["session"], row["channel"]) == (str(publication.session_id), channel)
                assert row["limited by"] == "-"
            assert "nothing holds a stream back" in view.text()

            def is_held_back(found):
                while publication.offer(bytes(1000)) != aeron_core.BACK_PRESSURED:
                    pass
                return (
                    all("(reader)" in row["limited by"] for row in found.values())
                    and found[sent]["publisher"] == f"{publication.position:,}"
                )

            full = await view.awaited(is_held_back)
            name = f"subscriber {subscription.registration_id}, process {os.getpid()} (reader)"
            assert {row["limited by"] for row in full.values()} == {name}
            assert full[received]["subscriber"] == position
            sentence = (
                f"subscriber {subscription.registration_id} of process {os.getpid()} (reader) holds stream"
            )
            assert f"{sentence} {STREAM_ID} back" in view.text()

        shown(directory, steps)
