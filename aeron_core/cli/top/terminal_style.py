"""Style of the view: the colours of the terminal itself, and texts and cells with them.

Invariant: what needs attention is red, and is also shown as text.
"""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.theme import Theme

from aeron_core.cli.outcome import printable
from aeron_core.cli.top.detail import ALERT
from aeron_core.cli.top.tables import ViewCell

#: Default background and foreground, and red.
THEME: Final = Theme(
    name="terminal",
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    warning="ansi_red",
    error="ansi_red",
    success="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "screen-selection-background": "ansi_default",
        "screen-selection-foreground": "ansi_default",
        "input-selection-background": "ansi_default",
        "input-selection-foreground": "ansi_default",
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "reverse",
        "block-cursor-blurred-foreground": "ansi_default",
        "block-cursor-blurred-background": "ansi_default",
        "block-cursor-blurred-text-style": "bold",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-background": "ansi_default",
        "input-cursor-text-style": "reverse",
        "footer-key-foreground": "ansi_default",
        "border": "ansi_default",
        "border-blurred": "ansi_default",
    },
)


def line_of(text: str, style: str = "") -> Text:
    """Return a line that is cut at the end of the terminal, without its control characters."""
    return Text(printable(text, kept=""), style, no_wrap=True, overflow="ellipsis")


def styled(cell: ViewCell) -> Text:
    """Return the text of a cell: numbers to the right."""
    return Text(
        cell.text, ALERT if cell.is_alert else "", justify="right" if cell.is_number else "left", no_wrap=True
    )
