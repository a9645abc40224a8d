"""JSON values that the page shows: tables and texts of bounded size.

All texts come from drivers, clients and peers: here they are made printable and cut. They reach the page as JSON, and
its components insert them as text, never as HTML.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from aeron_core.cli.outcome import printable
from aeron_core.cli.top.tables import ViewCell
from aeron_core.frozen import frozen

Json = dict[str, object]
#: Rows of a table, and characters of a text. Invented.
MAX_ROWS: Final = 200
MAX_LENGTH: Final = 240

#: One cell: the text, what it is sorted by, and whether it needs attention.
Cell = tuple[str, float | str | None, bool]


@frozen()
class TableColumn:
    """A column of a table; `help` explains it."""

    name: str
    is_number: bool = False
    help: str = ""


@frozen()
class TableRow:
    """A row; `key` identifies it on the page, `scope` is what a selection of the row shows, empty for none."""

    key: str
    cells: tuple[Cell, ...]
    scope: str = ""
    line: Sequence[float | None] = ()  # values of a small plot in the first column
    text: str = ""  # more text that the filter searches


def clipped(text: object, length: int = MAX_LENGTH) -> str:
    """Return a text with its control characters escaped, and without its middle if it is longer than `length`."""
    shown = str(text)
    if len(shown) > length:
        half = length // 2
        # The end of a channel or a path is as significant as its begin.
        shown = f"{shown[: half - 1]} … {shown[-(half - 2) :]}"
    return printable(shown, kept="")[: 2 * length]


def cell_of(cell: ViewCell) -> Cell:
    """Return a cell of the tables of `aeron-core top`."""
    order = cell.order
    if isinstance(order, str):
        order = clipped(order)
    return (
        clipped(cell.text),
        order if order is None or isinstance(order, str) else float(order),
        cell.is_alert,
    )


def number_cell(text: str, value: float | None, *, is_alert: bool = False) -> Cell:
    """Return a cell with a number."""
    return clipped(text), None if value is None else float(value), is_alert


def text_cell(text: object, *, is_alert: bool = False) -> Cell:
    """Return a cell with a text."""
    shown = clipped(text)
    return shown, shown, is_alert


def table(
    title: str, columns: Sequence[TableColumn], rows: Iterable[TableRow], empty: str, selected: str = ""
) -> Json:
    """Return a table with at most `MAX_ROWS` rows; `total` is the number of rows that there are.

    `empty`: text if there are none; `selected`: scope of the rows that are marked.
    """
    found = list(rows)
    # Rows with an alert first, in the same order otherwise.
    shown = found if len(found) <= MAX_ROWS else sorted(found, key=_is_calm)[:MAX_ROWS]
    return {
        "title": title,
        "columns": [{"name": each.name, "number": each.is_number, "help": each.help} for each in columns],
        "rows": [
            {
                "key": row.key
                if len(row.key) <= MAX_LENGTH
                else hashlib.sha256(row.key.encode()).hexdigest(),
                "cells": row.cells,
                "scope": row.scope,
                "line": [rounded(each) for each in row.line],
                "text": clipped(row.text),
            }
            for row in shown
        ],
        "total": len(found),
        "empty": empty,
        "selected": selected,
    }


def rounded(value: float | None) -> float | None:
    """Return a value with four significant digits, which is what a plot can show."""
    return None if value is None else float(f"{value:.4g}")


def _is_calm(row: TableRow) -> bool:
    return not any(is_alert for _, _, is_alert in row.cells)
