"""The view: tables of streams, drivers and errors.

Not here: what is shown (`tables`, `detail`), where it comes from (`sources`, `playback`), the screen with one stream
(`detail_screen`) and colours (`terminal_style`). Files are read on a thread, so that keys are answered at once.
"""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import ContentSwitcher, DataTable, Footer, Input, Static

from aeron_core.cli.outcome import printable
from aeron_core.cli.text_table import counted
from aeron_core.cli.top.detail import ALERT, HEADING
from aeron_core.cli.top.detail_screen import DetailScreen, help_text
from aeron_core.cli.top.playback import GOAL_ALLOWED, Playback
from aeron_core.cli.top.sources import Moment, MomentSource
from aeron_core.cli.top.tables import TABLES, ViewCell, ViewRow, arranged, holding_back
from aeron_core.cli.top.terminal import TerminalDriver, is_terminal_gone
from aeron_core.cli.top.terminal_style import THEME, line_of, styled
from aeron_core.concurrent.error_report import date_of

_NS_PER_MS: Final = 1_000_000
#: Sentences about what holds streams back that are shown at most.
_MOST_SENTENCES: Final = 3
_MOST_NOTICES: Final = 3
#: Columns of a terminal on which a sentence may not fit in a line.
_NARROW: Final = 100
#: Steps of a jump in a history.
_JUMP: Final = 10
#: Seconds between two looks at the terminal. Invented.
_TERMINAL_S: Final = 1.0
#: Columns of numbers that are sorted upwards first.
_IDENTITIES: Final = ("stream", "session", "process", "heartbeat")


class TopApp(App[None]):
    """The application. `interval_s`: time between two updates."""

    TITLE = "aeron-core top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    DetailScreen { background: ansi_default; }
    DetailScreen VerticalScroll { height: 1fr; padding: 0 1; background: ansi_default; }
    #head, #tabs { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #limits { height: auto; max-height: 4; }
    ContentSwitcher { height: 1fr; }
    DataTable { height: 1fr; background: ansi_default; }
    DataTable:ansi > .datatable--header { background: ansi_default; color: ansi_default; text-style: bold underline; }
    DataTable > .datatable--even-row { background: ansi_default; }
    DataTable > .datatable--hover { background: ansi_default; }
    #prompt { display: none; height: 1; border: none; padding: 0; background: ansi_default; }
    #prompt.shown { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "show_table(0)", "streams", show=False),
        Binding("2", "show_table(1)", "drivers", show=False),
        Binding("3", "show_table(2)", "errors", show=False),
        Binding("tab", "next_table", "next table", show=False, priority=True),
        Binding("s", "sort", "sort"),
        Binding("S", "reverse", "reverse", show=False),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("escape", "clear_filter", "clear", show=False),
        Binding("space", "toggle_pause", "pause"),
        Binding("comma", "step(-1)", "back", key_display=","),
        Binding("full_stop", "step(1)", "forth", key_display="."),
        Binding("less_than_sign", f"step({-_JUMP})", "10 back", show=False),
        Binding("greater_than_sign", f"step({_JUMP})", "10 forth", show=False),
        Binding("g", "seek", "go to"),
        Binding("plus", "speed(2.0)", "faster", show=False),
        Binding("minus", "speed(0.5)", "slower", show=False),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("q,ctrl+c", "quit", "quit", key_display="q"),
    ]

    def __init__(self, source: MomentSource, interval_s: float) -> None:
        """Read nothing yet."""
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.register_theme(THEME)
        self.theme = THEME.name
        self._source = source
        self._playback = source if isinstance(source, Playback) else None
        self._interval_s = interval_s
        self._is_paused = False
        self._lock = asyncio.Lock()
        self.moment = Moment(time.time_ns())
        self._table = 0
        self._sort: list[tuple[int, bool]] = [(0, False)] * len(TABLES)
        self._terms = [""] * len(TABLES)
        self._prompt = ""
        #: Keys of the rows that each table shows, in their order, and the cells.
        self._shown: list[dict[str, tuple[ViewCell, ...]]] = [{} for _ in TABLES]
        self._rows: dict[str, ViewRow] = {}

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        yield Static(id="head", markup=False)
        yield Static(id="tabs", markup=False)
        yield Static(id="limits", markup=False)
        with ContentSwitcher(initial=TABLES[0].name):
            for table in TABLES:
                yield DataTable[Text](id=table.name, cursor_type="row")
        yield Input(id="prompt")
        yield Footer()

    async def on_mount(self) -> None:
        """Show the first moment, and begin to update."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            # Only the main thread may handle signals. Without a handler the terminal would stay as it is.
            with suppress(ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self.exit)
        for kind in TABLES:
            table = self.query_one(f"#{kind.name}", DataTable)
            for name in kind.columns:
                table.add_column(Text(name), key=name)
        self._widget().focus()
        await self.refresh_moment()
        self.run_worker(self._update(), exclusive=True)
        if not self.is_headless:
            self.run_worker(self._watch_terminal(), group="terminal")
        if self._playback is not None:
            self.run_worker(self._load(self._playback), group="load")

    def on_unmount(self) -> None:
        """Stop to read a history: the program ends only after its threads."""
        if self._playback is not None:
            self._playback.is_stopped = True

    async def _update(self) -> None:
        while True:
            begin = time.monotonic()
            await asyncio.sleep(self._interval_s)
            if self._playback is not None:
                self._playback.advance(time.monotonic() - begin)
            if not self._is_paused:
                await self.refresh_moment()

    async def _watch_terminal(self) -> None:
        """Exit when the terminal is closed, also where no SIGHUP comes: the input of a closed terminal never waits."""
        while not is_terminal_gone():
            await asyncio.sleep(_TERMINAL_S)
        self.exit()

    async def _load(self, playback: Playback) -> None:
        await asyncio.to_thread(playback.load)
        await self.refresh_moment()

    async def refresh_moment(self) -> None:
        """Read a moment on a thread and show it."""
        async with self._lock:
            self.moment = await asyncio.to_thread(self._read)
        self.show_moment()

    def _read(self) -> Moment:
        moment = self._source.read()
        # Computed here, not between two keys.
        _ = moment.limitations
        return moment

    def show_moment(self) -> None:
        """Show the moment that was read last."""
        moment = self.moment
        for event in moment.events[:_MOST_NOTICES]:
            self.notify(printable(event, kept=""), markup=False, timeout=8)
        tables = [kind.rows(moment) for kind in TABLES]
        self._show_head()
        self._show_tabs([len(rows) for rows in tables])
        self._show_limits()
        column, is_reversed = self._sort[self._table]
        terms = self._terms[self._table]
        self._show_rows(arranged(tables[self._table], column, is_reversed=is_reversed, terms=terms))
        if isinstance(self.screen, DetailScreen):
            self.screen.show(moment)

    def _static(self, name: str) -> Static:
        # The table may be below another screen.
        return self.screen_stack[0].query_one(f"#{name}", Static)

    def _widget(self) -> DataTable[Text]:
        return self.screen_stack[0].query_one(f"#{TABLES[self._table].name}", DataTable)

    def _show_head(self) -> None:
        date = date_of(self.moment.time_ns // _NS_PER_MS)[:19]
        parts = ["aeron-core top", date]
        playback = self._playback
        if playback is None:
            parts.append("PAUSED" if self._is_paused else f"every {self._interval_s:g} s")
        else:
            state = "playing" if playback.is_playing else "PAUSED"
            reading = "" if playback.is_loaded else f" (reading, {playback.share_read:.0%})"
            parts += [
                f"{state} x{playback.speed:g}",
                f"{playback.index + 1:,}/{playback.count:,}{reading}",
                f"{playback.elapsed_s:.1f} of {playback.duration_s:.1f} s",
                playback.path.name,
            ]
            if playback.stride > 1:
                parts.append(f"1 of {playback.stride} snapshots")
            if playback.problem:
                parts.append(playback.problem)
        self._static("head").update(line_of("  ".join(parts), HEADING))

    def _show_tabs(self, counts: list[int]) -> None:
        line = Text()
        for number, kind in enumerate(TABLES):
            is_shown = number == self._table
            name = kind.name.upper() if is_shown else kind.name
            line.append(f"{number + 1} {name} ({counts[number]})", "bold underline" if is_shown else "")
            line.append("  ")
        column, is_reversed = self._sort[self._table]
        order = "descending" if is_reversed else "ascending"
        line.append(f"by {TABLES[self._table].columns[column]}, {order}", "dim")
        if self._terms[self._table]:
            line.append(f"  filter: {printable(self._terms[self._table])}", ALERT)
        self._static("tabs").update(line)

    def _show_limits(self) -> None:
        sentences = holding_back(self.moment)
        # A sentence takes two lines of a narrow terminal.
        most = _MOST_SENTENCES if self.size.width > _NARROW else _MOST_SENTENCES - 1
        more = len(sentences) - most
        lines = [Text(sentence, ALERT) for sentence in sentences[: most - 1 if more > 0 else most]]
        if more > 0:
            lines.append(line_of(f"and {counted(more + 1, 'more', 'more')}", ALERT))
        self._static("limits").update(
            Text("\n").join(lines or [line_of("nothing holds a stream back", "dim")])
        )

    def _show_rows(self, rows: list[ViewRow]) -> None:
        """Show these rows; the selected row remains selected where it moves, and the table where it is scrolled to."""
        table = self._widget()
        shown = self._shown[self._table]
        names = [repr(row.key) for row in rows]
        self._rows = dict(zip(names, rows, strict=True))
        if list(shown) != names:
            selected = list(shown)[table.cursor_row] if 0 <= table.cursor_row < len(shown) else None
            place, offset = table.cursor_row, table.scroll_offset
            table.clear()
            for name, row in self._rows.items():
                table.add_row(*map(styled, row.cells), key=name)
            index = names.index(selected) if selected in self._rows else min(place, len(names) - 1)
            table.move_cursor(row=max(index, 0), scroll=False)
            table.scroll_to(offset.x, offset.y, animate=False)
        else:
            columns = TABLES[self._table].columns
            for name, row in self._rows.items():
                for column, cell, before in zip(columns, row.cells, shown[name], strict=True):
                    if cell != before:
                        table.update_cell(name, column, styled(cell), update_width=True)
        self._shown[self._table] = {name: row.cells for name, row in self._rows.items()}

    def action_show_table(self, number: int) -> None:
        """Show another table."""
        self._table = number
        self.screen_stack[0].query_one(ContentSwitcher).current = TABLES[number].name
        self._widget().focus()
        self.show_moment()

    def action_next_table(self) -> None:
        """Show the table after the shown one."""
        if not self._prompt:
            self.action_show_table((self._table + 1) % len(TABLES))

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort_by((self._sort[self._table][0] + 1) % len(TABLES[self._table].columns))

    def action_reverse(self) -> None:
        """Reverse the order of the rows."""
        column, is_reversed = self._sort[self._table]
        self._sort[self._table] = (column, not is_reversed)
        self.show_moment()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by a column; reverse the order if it is sorted by this one."""
        if event.column_index == self._sort[self._table][0]:
            self.action_reverse()
        else:
            self._sort_by(event.column_index)

    def _sort_by(self, column: int) -> None:
        kind = TABLES[self._table]
        # The largest numbers are those that a user looks for.
        is_number = any(row.cells[column].is_number for row in kind.rows(self.moment))
        is_reversed = is_number and kind.columns[column] not in _IDENTITIES
        self._sort[self._table] = (column, is_reversed)
        self.show_moment()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show more of a row."""
        row = self._rows.get(str(event.row_key.value))
        if row is None:
            return
        name = TABLES[self._table].name
        if name == "streams":
            _, stream_id, session_id, *_ = row.key
            self.push_screen(DetailScreen(self.moment, stream=(int(str(stream_id)), int(str(session_id)))))
        elif name == "drivers":
            self._terms[0] = row.driver.state.aeron_dir.name
            self.action_show_table(0)
        else:
            columns = zip(TABLES[self._table].columns, row.cells, strict=True)
            text = "\n".join(f"{column}: {cell.text}" for column, cell in columns)
            self.push_screen(DetailScreen(self.moment, text=Text(text)))

    def action_filter(self) -> None:
        """Ask for the terms of the filter."""
        self._ask("filter", "rows with all of these terms; empty: all rows", self._terms[self._table])

    def action_clear_filter(self) -> None:
        """Close the prompt; without one, show all rows."""
        if self._prompt:
            self._close_prompt()
        else:
            self._terms[self._table] = ""
            self.show_moment()

    def action_seek(self) -> None:
        """Ask where to go in the history."""
        self._ask("seek", GOAL_ALLOWED, "")

    def _ask(self, prompt: str, placeholder: str, value: str) -> None:
        self._prompt = prompt
        box = self.screen_stack[0].query_one("#prompt", Input)
        box.placeholder, box.value = placeholder, value
        box.add_class("shown")
        box.focus()

    def _close_prompt(self) -> None:
        self._prompt = ""
        self.screen_stack[0].query_one("#prompt", Input).remove_class("shown")
        self._widget().focus()
        self.show_moment()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the terms are typed."""
        if self._prompt == "filter":
            self._terms[self._table] = event.value
            self.show_moment()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply the filter, or go to a place in the history."""
        if self._prompt == "seek" and self._playback is not None:
            try:
                self._playback.seek_text(event.value)
            except ValueError as error:
                self.notify(str(error), severity="error", markup=False)
                return
            self._playback.is_playing = False
            await self.refresh_moment()
        self._close_prompt()

    async def action_toggle_pause(self) -> None:
        """Pause or continue: the updates, or the history."""
        if self._playback is None:
            self._is_paused = not self._is_paused
            self._show_head()
            return
        self._playback.toggle()
        await self.refresh_moment()

    async def action_step(self, number: int) -> None:
        """Move within the history by a number of snapshots."""
        if self._playback is not None:
            self._playback.step(number)
            await self.refresh_moment()

    def action_speed(self, factor: float) -> None:
        """Play the history faster or slower."""
        if self._playback is not None:
            self._playback.change_speed(factor)
            self._show_head()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key has an effect: some have one in a history only."""
        return self._playback is not None or action not in ("step", "seek", "speed")

    def action_help(self) -> None:
        """Show the keys."""
        text = help_text(has_history=self._playback is not None)
        self.push_screen(DetailScreen(self.moment, text=text))
