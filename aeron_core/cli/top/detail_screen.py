"""Screen over the tables of the view: one stream in detail, one whole error, or the keys."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from aeron_core.cli.top.detail import stream_detail
from aeron_core.cli.top.sources import Moment

_HELP: Final = """\
1 2 3        streams, drivers, errors; tab: the next one
up down      select a row; left right: scroll
enter        a stream in detail; the streams of a driver; a whole error
escape       close; clear the filter
s            sort by the next column; S: reverse. A click on a column too
/            filter: rows that have all of these terms
space        pause, continue
?            this help
q            quit
"""
_HISTORY_HELP: Final = """
In a history:
, .          one snapshot back, forth
< >          ten snapshots back, forth
g            go to snapshot 12, to 50%, or to 90s after the begin
- +          play slower, faster
"""
_TABLE_HELP: Final = """
In the table of streams:
behind       bytes that the limiting party, else the slowest one, is behind
stopped      how often per second flow control stopped the sender
lost         bytes in the loss report of the driver, and their share of the receiver position
"""


class DetailScreen(ModalScreen[None]):
    """A screen with text, which the application updates while it shows a stream."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,q,enter", "app.pop_screen", "close"),
        Binding("space", "app.toggle_pause", "pause"),
        Binding("comma", "app.step(-1)", "back", show=False),
        Binding("full_stop", "app.step(1)", "forth", show=False),
        Binding("ctrl+c", "app.quit", "quit", show=False),
    ]

    def __init__(
        self, moment: Moment, stream: tuple[int, int] | None = None, text: Text | None = None
    ) -> None:
        """Show a stream, by its stream id and session id, at `moment` first; or a text."""
        super().__init__()
        self.stream = stream
        self._moment = moment
        self._text = text

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with VerticalScroll():
            yield Static(self._text or "", id="detail", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Show the stream at once, not at the next update."""
        self.show(self._moment)

    def show(self, moment: Moment) -> None:
        """Show the stream at a moment."""
        if self.stream is not None:
            # None before the screen is mounted.
            for widget in self.query("#detail").results(Static):
                widget.update(stream_detail(moment, *self.stream))


def help_text(*, has_history: bool) -> Text:
    """Return the keys of the view, and what its columns mean."""
    return Text(_HELP + (_HISTORY_HELP if has_history else "") + _TABLE_HELP)
