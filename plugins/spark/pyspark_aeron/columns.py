"""Columns of the data source: one table that defines Spark's schema and Arrow's schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyspark_aeron.options import SourceOptions


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its Spark type and its meaning."""

    type: str
    meaning: str


#: All columns are nullable, like the fields of `arrow_schema`: Spark requires the schema of the first batch to be the
#: declared one.
COLUMNS: Final[Mapping[str, Column]] = {
    "recording_id": Column("bigint", "number of the recording in its archive"),
    "position": Column("bigint", "position of the stream after the message"),
    "session_id": Column("int", "session of the publication that sent it"),
    "stream_id": Column("int", "stream within the channel"),
    "term_id": Column("int", "term that contains the message"),
    "flags": Column("int", "flags of its frames"),
    "reserved": Column("bigint", "reserved value of its first frame"),
    "ts": Column("timestamp", "time of recording, with millisecond precision"),
    "ts_ns": Column("bigint", "the same in nanoseconds since the epoch"),
    "payload": Column("binary", "the message"),
}
HEADERS: Final = Column("map<string,binary>", "channel and source of the recording")
#: Columns of Spark's Kafka connector. Source: KafkaRecordToRowConverter.
KAFKA_COLUMNS: Final[Mapping[str, Column]] = {
    "key": Column("binary", "always null"),
    "value": Column("binary", "the message"),
    "topic": Column("string", "channel and stream id"),
    "partition": Column("int", "number of the recording"),
    "offset": Column("bigint", "position after the message"),
    "timestamp": Column("timestamp", "time of recording"),
    "timestampType": Column("int", "1: log append time"),
}
KAFKA_HEADERS: Final = Column("array<struct<key:string,value:binary>>", HEADERS.meaning)


def columns_of(options: SourceOptions) -> dict[str, Column]:
    """Return the columns that the options select, in order."""
    columns = dict(KAFKA_COLUMNS if options.kafka_schema else COLUMNS)
    if options.include_headers:
        columns["headers"] = KAFKA_HEADERS if options.kafka_schema else HEADERS
    return columns


def ddl_of(options: SourceOptions) -> str:
    """Return the schema as Spark DDL."""
    return ", ".join(f"`{name}` {column.type}" for name, column in columns_of(options).items())


def selected_columns(options: SourceOptions, schema: StructType) -> tuple[str, ...]:
    """Return the names of the columns of the user's schema, in its order.

    Raises ConfigurationError for unknown columns and wrong types.
    """
    columns = columns_of(options)
    for field in schema.fields:
        column = columns.get(field.name)
        if column is None:
            raise ConfigurationError(f"column {field.name}: must be one of {', '.join(columns)}")
        if field.dataType.simpleString() != column.type:
            raise ConfigurationError(
                f"column {field.name} {field.dataType.simpleString()}: must be of type {column.type}"
            )
    return tuple(schema.fieldNames())


def arrow_schema(options: SourceOptions, names: tuple[str, ...]) -> pa.Schema:
    """Return the schema of all Arrow batches with the columns `names`, which the options must select."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import: only for batches

    types = {
        "bigint": pa.int64(),
        "int": pa.int32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "binary": pa.binary(),
        "string": pa.string(),
        HEADERS.type: pa.map_(pa.string(), pa.binary()),
        KAFKA_HEADERS.type: pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
    columns = columns_of(options)
    return pa.schema([pa.field(name, types[columns[name].type]) for name in names])
