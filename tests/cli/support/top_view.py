"""The view of `aeron-core top` without a terminal: running it, and reading what it shows. Needs Textual."""

import asyncio

from textual.widgets import DataTable

from aeron_core.cli.top.app import TopApp

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
