"""Tables in plain text: aligned columns, two spaces apart.

rich would draw them, but takes longer to import than the tools take to run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence


def table_lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> Iterator[str]:
    """Yield the header and the rows; columns named in `right` are aligned to the right."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()
