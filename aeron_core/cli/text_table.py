"""Tables and counted nouns as text: aligned columns, two spaces apart, with colours on a terminal.

In a pipe a row is one line of any width, without borders, so that other programs can read it. rich, which takes longer
to import than the tools take to run, draws only what `print_table` shows on a terminal: cells may have to wrap.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from aeron_core.cli.outcome import is_tty, printable

#: Styles of terminals. Source: ECMA-48, SGR (select graphic rendition).
BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
YELLOW: Final = "33"
CYAN: Final = "36"

#: Percentages below this one are not shown as 0.
_LEAST_SHARE: Final = 0.1


def share_text(length: int, position: int | None) -> str:
    """Return bytes as a share of a position, such as `1.2 %`; empty if either is 0 or unknown."""
    if not length or not position:
        return ""
    share = length / position * 100
    return f"{share:.1f} %" if share >= _LEAST_SHARE else f"< {_LEAST_SHARE:g} %"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun; `plural`, by default the noun with an s, is used unless the number is 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def has_colours() -> bool:
    """Return whether the standard output is a terminal with colours. Source: no-color.org."""
    return is_tty(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, style: str) -> str:
    """Return a text in a style if the standard output has colours."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text.strip() and has_colours() else text


def table_lines(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    styles: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the header and the rows; columns named in `right` are aligned to the right.

    `styles`: by column, for terminals; the header is bold there. Control characters of cells are escaped.
    """
    table = [header, *_printable_rows(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for number, row in enumerate(table):
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        ]
        # A row does not end with spaces, which only align the next column.
        cells[-1] = cells[-1].rstrip()
        if not has_colours():
            yield "  ".join(cells).rstrip()
            continue
        yield "  ".join(
            painted(cell, BOLD if number == 0 else (styles or {}).get(name, ""))
            for name, cell in zip(header, cells, strict=True)
        )


def _printable_rows(rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    # Not even tabs and line ends are kept: they would forge other cells and rows.
    return ([printable(cell, kept="") for cell in row] for row in rows)


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    title: str = "",
    styles: Sequence[Mapping[str, str]] = (),
) -> None:
    """Print a table; on a terminal, cells wrap within its width. A row of empty cells separates groups of rows.

    `styles`: for each row, or for none, the styles of its columns on a terminal with colours.
    """
    rows = list(_printable_rows(rows))
    if not is_tty(sys.stdout):
        print("\n".join([*title.splitlines(), *table_lines(header, rows, right)]))
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import: only for a table on a terminal
    from rich.table import Table  # noqa: PLC0415 - rich is slow to import: only for a table on a terminal
    from rich.text import Text  # noqa: PLC0415 - rich is slow to import: only for a table on a terminal

    # Without colours, rich would still print in bold.
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="" if has_colours() else "none",
        header_style="table.header" if has_colours() else "none",
        box=None,
        pad_edge=False,
    )
    for name in header:
        table.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row, style in zip(rows, styles or [{}] * len(rows), strict=True):
        cells = zip(header, row, strict=True)
        table.add_row(*(Text.from_ansi(painted(cell, style.get(name, ""))) for name, cell in cells))
    Console().print(table)
