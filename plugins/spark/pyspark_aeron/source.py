"""Data source of the format `aeron`.

Spark imports this module in every look-up of a format, which must stay fast: modules that import pydantic, numpy or
pyarrow are imported in the methods that need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from aeron_core.errors import ConfigurationError
from pyspark_aeron.columns import ddl_of, selected_columns
from pyspark_aeron.quiet_ends import end_quietly

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pyspark_aeron.reading.batch_reader import BatchReader
    from pyspark_aeron.reading.stream_reader import StreamReader
    from pyspark_aeron.writing.sink import BatchWriter, StreamWriter
    from pyspark_aeron.writing.sink_options import SinkOptions


class AeronDataSource(DataSource):
    """Data source for the recordings of an archive, and sink into one or onto a channel.

    All methods but `name` raise ConfigurationError for wrong options or columns; those that return a writer also raise
    the errors of `Archive.create`.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        end_quietly()

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore a source that another process has created."""
        vars(self).update(state)
        end_quietly()

    @classmethod
    def name(cls) -> str:
        """Return the name for `format(…)`."""
        return "aeron"

    def schema(self) -> StructType | str:
        """Return the columns that the options select, as DDL."""
        from pyspark_aeron.options import SourceOptions  # noqa: PLC0415 - imports pydantic

        return ddl_of(SourceOptions.parse(self.options))

    def reader(self, schema: StructType) -> BatchReader:
        """Return a batch reader of the columns of `schema`."""
        from pyspark_aeron.options import SourceOptions  # noqa: PLC0415 - imports pydantic
        from pyspark_aeron.reading.batch_reader import BatchReader  # noqa: PLC0415 - imports numpy

        options = SourceOptions.parse(self.options)
        return BatchReader(options, selected_columns(options, schema))

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        """Return a streaming reader of the columns of `schema`."""
        from pyspark_aeron.options import SourceOptions  # noqa: PLC0415 - imports pydantic
        from pyspark_aeron.reading.stream_reader import StreamReader  # noqa: PLC0415 - imports numpy

        options = SourceOptions.parse(self.options)
        return StreamReader(options, selected_columns(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Return a writer for the rows of a job; raises ConfigurationError for overwrite. Creates a missing archive."""
        from pyspark_aeron.writing.sink import BatchWriter  # noqa: PLC0415 - imports pyarrow

        if overwrite:
            raise ConfigurationError(
                'mode overwrite: must be append, .mode("append"): what was recorded or published is never replaced'
            )
        return BatchWriter(self._sink_options(schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """Return a writer for the batches of a streaming query; creates a missing archive. Ignores `overwrite`."""
        from pyspark_aeron.writing.sink import StreamWriter  # noqa: PLC0415 - imports pyarrow

        return StreamWriter(self._sink_options(schema))

    def _sink_options(self, schema: StructType) -> SinkOptions:
        from pyspark_aeron.writing.delivering import check_target  # noqa: PLC0415 - imports numpy
        from pyspark_aeron.writing.sink_options import (  # noqa: PLC0415 - imports pydantic
            SinkOptions,
            check_columns,
        )

        check_columns({field.name: field.dataType.simpleString() for field in schema.fields})
        options = SinkOptions.parse(self.options)
        check_target(options)
        return options
