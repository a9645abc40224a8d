"""The page: its elements, and a session for each browser that shows it.

The HTML of the page has no value of a driver. All values arrive as JSON over the connection of the session, and the
components insert them as text.
Invariant: a session has at most one update that its browser has not confirmed, so that a slow browser gets fewer
updates, and memory does not grow with them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nicegui import Client, ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments
from starlette.requests import Request

from aeron_core.cli.dashboard.documents import Json
from aeron_core.cli.dashboard.feed import PageFeed
from aeron_core.cli.dashboard.trends import ALL

#: Name of the feed in the scope of a request.
FEED_KEY: Final = "aeron_core.dashboard.feed"
TITLE: Final = "aeron-core dashboard"
#: Seconds in which a browser must open the connection of a page that it has loaded, and confirm an update. Invented.
_CONNECT_S: Final = 10.0
_CONFIRM_S: Final = 10.0
#: Longest scope that a browser may select: a path of Linux, and a few terms.
_MAX_SCOPE_LENGTH: Final = 4200


class BarElement(Element, component="components/aeron_bar.js"):
    """Title, time, what holds streams back, and controls of the page."""


class TableElement(Element, component="components/aeron_table.js"):
    """A table that can be sorted and filtered."""


class PlotsElement(Element, component="components/aeron_plots.js"):
    """Plots over time, of the selected streams."""


class MapElement(Element, component="components/aeron_map.js"):
    """Map of streams between publishers, drivers and subscribers."""


#: Elements of the page in their order: the name of each in a document, and its class.
_ELEMENTS: Final[Mapping[str, type[Element]]] = {
    "bar": BarElement,
    "plots": PlotsElement,
    "map": MapElement,
    "streams": TableElement,
    "drivers": TableElement,
    "errors": TableElement,
    "recordings": TableElement,
    "queries": TableElement,
    "settings": TableElement,
}


class DashboardSession:
    """One page in one browser."""

    def __init__(self, client: Client, feed: PageFeed) -> None:
        """Create the elements, without values."""
        self._client = client
        self._feed = feed
        self._scope = ALL
        self._is_paused = False
        self._player = feed.player()
        self._played_s = time.monotonic()
        self._shown: dict[str, Json] = {}
        self._changed = asyncio.Event()
        self._elements = {name: kind().props(f"name={name}") for name, kind in _ELEMENTS.items()}
        for element in self._elements.values():
            element.on("scope", self._on_scope)
            element.on("pause", self._on_pause)
            element.on("seek", self._on_seek)

    async def run(self) -> None:
        """Send updates until the browser has closed the page."""
        with self._feed.subscribers.including(self._changed):
            while not self._client.is_deleted:
                self._changed.clear()
                update = "" if self._is_paused else await self._update()
                is_confirmed = await self._is_confirmed(update)
                while not is_confirmed and not self._client.is_deleted:
                    is_confirmed = await self._is_confirmed("")
                await self._changed.wait()

    async def _update(self) -> str:
        """Return the JavaScript that shows what has changed since the last update."""
        now_s = time.monotonic()
        if self._player is not None:
            self._player.advance(now_s - self._played_s)
        self._played_s = now_s
        document = await asyncio.to_thread(self._feed.document, self._scope, self._player)
        calls = []
        for name, content in document.items():
            if self._shown.get(name) != content:
                self._shown[name] = content
                # ASCII and no NaN: such JSON is an expression of JavaScript.
                arguments = json.dumps([content], allow_nan=False, separators=(",", ":"))
                calls.append(f'runMethod({self._elements[name].id},"show",{arguments});')
        return "".join(calls)

    async def _is_confirmed(self, update: str) -> bool:
        try:
            await self._client.run_javascript(f"{update}1", timeout=_CONFIRM_S)
        except TimeoutError:
            return False
        return True

    def _on_scope(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and len(event.args) <= _MAX_SCOPE_LENGTH:
            self._scope = event.args
            self._changed.set()

    def _on_pause(self, event: GenericEventArguments) -> None:
        if self._player is None:
            self._is_paused = event.args is True
        else:
            self._player.toggle()
        self._changed.set()

    def _on_seek(self, event: GenericEventArguments) -> None:
        if self._player is not None and isinstance(event.args, int):
            self._player.is_playing = False
            self._player.seek(event.args)
            self._changed.set()


@ui.page("/", title=TITLE, language="en-US")
async def dashboard_page(request: Request, client: Client) -> None:
    """Build the page, and update it until it is closed."""
    style = (Path(__file__).parent / "components" / "style.css").read_text(encoding="utf-8")
    ui.add_head_html(f"<style>{style}</style>")
    session = DashboardSession(client, request.scope[FEED_KEY])
    await client.connected(timeout=_CONNECT_S)
    await session.run()


def session_count() -> int:
    """Return how many pages are open, or were loaded in the last seconds."""
    return len(Client.instances)
