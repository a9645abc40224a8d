"""Rows of an archive by the reader in Python, and whether the reader for Spark's Java returns the same."""

import pyarrow as pa
from pyspark_aeron.columns import arrow_schema, columns_of
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading import range_reader
from pyspark_aeron.reading.planning import split
from pyspark_aeron.reading.range_reader import read_batches
from pyspark_aeron.reading.selection import Selection


def python(folder, columns=None, **options):
    """Return an archive as a table of Arrow, by the reader in Python, without a worker of Spark."""
    parsed = SourceOptions.parse(
        {"archive": str(folder), **{name.lower(): text for name, text in options.items()}}
    )
    range_reader._archives.clear()  # an archive of an earlier example had the same path
    names = tuple(columns or columns_of(parsed))
    selection = Selection(parsed)
    ranges = selection.ranges(selection.start(), selection.end())
    pieces = split(selection, ranges, parsed.partition_length, parsed.min_partitions)
    batches = [batch for piece in pieces for batch in read_batches(parsed, names, piece)]
    return pa.Table.from_batches(batches, arrow_schema(parsed, names))


def rows_of(table):
    return sorted(
        (tuple(_plain(value) for value in row.values()) for row in table.to_pylist()),
        key=lambda row: (row[0], row[1]),
    )


def _plain(value):
    return sorted(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value


def assert_same(java, folder, **options):
    expected = rows_of(python(folder, **options))
    assert rows_of(java(folder, **options)) == expected
    return expected
