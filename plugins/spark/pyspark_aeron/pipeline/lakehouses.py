"""Sinks of Delta Lake and Iceberg: tables that a query appends to, or merges into by key, exactly once.

Without a merge the format's own streaming sink commits a batch together with its number. A merge does the same: in
Delta as the version of the query's transactions, in Iceberg as properties of the snapshot. So a batch that is repeated
after a crash changes nothing.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError, PipelineError
from pyspark_aeron.pipeline.definition import QuerySink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

ICEBERG_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"
#: Jars by format and version of Spark that the tests use; `{spark}` is the version that is installed.
_COORDINATES: Final[Mapping[str, str]] = {
    "delta": "io.delta:delta-spark_{spark}_2.13:4.4.0",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:1.12.0",
}
_NEWEST_SPARK: Final[Mapping[str, str]] = {"delta": "4.2", "iceberg": "4.1"}
# Parts of Spark's messages about classes that no jar has.
_MISSING_CLASS: Final = (
    "Cannot find catalog plugin class",
    "CANNOT_LOAD_CATALOG",
    "DATA_SOURCE_NOT_FOUND",
    "ClassNotFoundException",
    "NoClassDefFoundError",
)
_NO_TABLE: Final = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "PATH_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
)
_BATCH: Final = "aeron_batch"
#: Version of Spark from which each query of Spark Connect has a session of its own, as without Spark Connect.
_OWN_SESSIONS: Final = (4, 3)


def coordinates(format_name: str) -> str:
    """Return how to get the jar of a format for the installed Spark, as the end of a sentence."""
    newest = _NEWEST_SPARK[format_name]
    try:
        installed = importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        installed = newest  # on a server, or later
    spark = ".".join(installed.split(".")[:2])
    if tuple(map(int, spark.split("."))) > tuple(map(int, newest.split("."))):
        return (
            f"{_COORDINATES[format_name].format(spark=newest)} is for Spark {newest}, and Spark {spark} is installed: "
            f"use a release for Spark {spark} if there is one, or pip install 'pyspark=={newest}.*'"
        )
    return f'"spark.jars.packages" = "{_COORDINATES[format_name].format(spark=spark)}"'


def check_merges(spark: SparkSession, sinks: Iterable[QuerySink]) -> None:
    """Raise ConfigurationError if several queries merge, and their batches would share a session.

    The number of a batch is a setting of the session: a batch would be committed with the number of another query.
    """
    merging = [sink.query for sink in sinks if sink.merge_on]
    is_shared = type(spark).__module__.startswith("pyspark.sql.connect.")
    if len(merging) > 1 and is_shared and tuple(map(int, spark.version.split(".")[:2])) < _OWN_SESSIONS:
        raise ConfigurationError(
            f"queries {', '.join(merging)}: Spark {spark.version} merges batches of one query only with Spark Connect: "
            "split the pipeline, with one merge_on in each, or run it without Spark Connect"
        )


def start_lakehouse(
    spark: SparkSession, sink: QuerySink, frame: DataFrame, writer: DataStreamWriter, checkpoint: str
) -> StreamingQuery:
    """Create or extend the table of a sink, and start its query.

    `writer`: of `frame`, with everything but format, options and partitions. Raises ConfigurationError if a jar is
    missing or the table has another schema, and Spark's errors.
    """
    with _jar_named(sink):
        columns = _prepare(spark, sink, frame.schema)
    if sink.merge_on:
        # The number of a batch is unique within a query, so the query is part of its identity.
        merge = _Merge(sink, table_name(sink), tuple(columns.fieldNames()), checkpoint)
        return writer.foreachBatch(merge).start()
    writer = writer.format(sink.format)
    if sink.format == "iceberg":
        # One open file per partition, instead of an error if rows are not sorted by partition.
        writer = writer.option("fanout-enabled", "true")
    for name, value in sink.options.items():
        writer = writer.option(name, value)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if sink.format == "delta" and sink.path is not None:
        return writer.start(sink.path)
    return writer.toTable(table_name(sink))


def table_name(sink: QuerySink) -> str:
    """Return the name of a sink's table in SQL."""
    if sink.table is not None:
        return sink.table
    location = _location(sink)
    if sink.format == "delta":
        return f"delta.{_quoted(location)}"
    return f"{_path_catalog(sink)}.{_quoted(location.rpartition('/')[2])}"


def _location(sink: QuerySink) -> str:
    assert sink.path is not None
    path = sink.path.rstrip("/")
    return path if "://" in path else str(Path(path).absolute())


def _path_catalog(sink: QuerySink) -> str:
    """Return the name of a catalog, for this session only, of the folder that contains the table of a sink.

    A session keeps a catalog with the settings that it had at first, so each folder has its own.
    """
    folder = _location(sink).rpartition("/")[0]
    return f"aeron_{hashlib.sha256(folder.encode()).hexdigest()[:16]}"


def aligned(spark: SparkSession, sink: QuerySink, frame: DataFrame) -> DataFrame:
    """Return `frame` with the columns of the sink's table in its order, null if missing; as it is without a table."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    there = _schema_of(spark, sink)
    if there is None:
        return frame
    given = {name.lower(): name for name in frame.columns}
    names = {field.name.lower() for field in there}
    columns = [
        F.col(_quoted(given[field.name.lower()])).alias(field.name)
        if field.name.lower() in given
        else F.lit(None).cast(field.dataType).alias(field.name)
        for field in there
    ]
    new = [F.col(_quoted(name)) for lower, name in given.items() if lower not in names]
    return frame.select(*columns, *new)


def _prepare(spark: SparkSession, sink: QuerySink, schema: StructType) -> StructType:
    """Create the table of a sink, or add the columns that it lacks; return the schema of the query."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    name = table_name(sink)
    there = _schema_of(spark, sink)
    if there is None:
        partitions = ", ".join(map(_quoted, sink.partition_by))
        columns = StructType([type(field)(field.name, field.dataType) for field in schema]).toDDL()
        spark.sql(
            f"CREATE TABLE {name} ({columns}) USING {sink.format}"
            + (f" PARTITIONED BY ({partitions})" if partitions else "")
        )
        return schema
    known = {field.name.lower(): field for field in there}
    new = [field for field in schema if field.name.lower() not in known]
    other = [
        f"{field.name} is {known[field.name.lower()].dataType.simpleString()} there and "
        f"{field.dataType.simpleString()} here"
        for field in schema
        if field.name.lower() in known
        and known[field.name.lower()].dataType.simpleString() != field.dataType.simpleString()
    ]
    if other or (new and not sink.schema_evolution):
        faults = [*other, *(f"{field.name} is not in the table" for field in new)]
        remedy = "cast or rename columns in a step" + ("" if other else ", or set schema_evolution = true")
        raise ConfigurationError(f"query {sink.query}: table {name}: {'; '.join(faults)}: {remedy}")
    if new:
        added = StructType([type(field)(field.name, field.dataType) for field in new]).toDDL()
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({added})")
    return schema


def _schema_of(spark: SparkSession, sink: QuerySink) -> StructType | None:
    """Return the schema of the sink's table, None if there is no table; raises ConfigurationError without its jar."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes half a second

    if sink.format == "iceberg" and sink.table is None:
        catalog = f"spark.sql.catalog.{_path_catalog(sink)}"
        spark.conf.set(catalog, ICEBERG_CATALOG)
        spark.conf.set(f"{catalog}.type", "hadoop")
        spark.conf.set(f"{catalog}.warehouse", _location(sink).rpartition("/")[0])
    try:
        with _jar_named(sink):
            return spark.table(table_name(sink)).schema
    except PySparkException as error:
        if error.getCondition() in _NO_TABLE:
            return None
        raise


@contextmanager
def _jar_named(sink: QuerySink) -> Iterator[None]:
    """Raise ConfigurationError with the jar of a format if an error is that it is missing."""
    try:
        yield
    except Exception as error:  # of Spark, or of py4j, which a client of Spark Connect does not have
        if any(part in str(error) for part in _MISSING_CLASS):
            raise ConfigurationError(
                f"query {sink.query}: format {sink.format}: the session has no jar of it: {coordinates(sink.format)}"
            ) from None
        raise


@dataclass(slots=True)
class _Merge:
    """Callback that merges each batch into a table by key, once."""

    sink: QuerySink
    table: str
    columns: tuple[str, ...]
    checkpoint: str
    query_id: str = ""  # of Spark, the same after a restart; empty until the first batch

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        spark = frame.sparkSession
        # Spark Connect offers no other access to it here.
        self.query_id = self.query_id or _query_id(spark, self.checkpoint)
        if self.sink.format == "delta":
            spark.conf.set("spark.databricks.delta.write.txnAppId", self.query_id)
            spark.conf.set("spark.databricks.delta.write.txnVersion", str(batch_id))
        elif self._is_committed(spark, batch_id):
            return
        else:
            prefix = "spark.sql.iceberg.snapshot-property.aeron"
            spark.conf.set(f"{prefix}-query", self.query_id)
            spark.conf.set(f"{prefix}-batch", str(batch_id))
        if self.sink.merge_order is None:
            self._check_keys(frame)
        frame.createOrReplaceTempView(_BATCH)
        spark.sql(self.statement())

    def statement(self) -> str:
        """Return the MERGE statement. Of the rows of a batch with one key, the last one by `merge_order` is used."""
        keys = ", ".join(map(_quoted, self.sink.merge_on))
        same = " AND ".join(f"t.{_quoted(key)} <=> s.{_quoted(key)}" for key in self.sink.merge_on)
        newer, source = "", _BATCH
        if self.sink.merge_order is not None:
            order = _quoted(self.sink.merge_order)
            newer = f" AND (t.{order} IS NULL OR s.{order} >= t.{order})"
            ranked = f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {order} DESC) AS _rank"
            source = f"(SELECT * EXCEPT (_rank) FROM ({ranked} FROM {_BATCH}) WHERE _rank = 1)"
        assignments = ", ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in self.columns)
        names = ", ".join(map(_quoted, self.columns))
        values = ", ".join(f"s.{_quoted(name)}" for name in self.columns)
        return (
            f"MERGE INTO {self.table} t USING {source} s ON {same} WHEN MATCHED{newer} THEN UPDATE SET {assignments} "
            f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
        )

    def _is_committed(self, spark: SparkSession, batch_id: int) -> bool:
        found = spark.table(f"{self.table}.snapshots").where(
            f"summary['aeron-query'] = '{self.query_id}' AND CAST(summary['aeron-batch'] AS BIGINT) >= {batch_id}"
        )
        return not found.isEmpty()

    def _check_keys(self, frame: DataFrame) -> None:
        keys = self.sink.merge_on
        twice = frame.groupBy(*map(_quoted, keys)).count().where("count > 1").first()
        if twice is not None:
            raise PipelineError(
                f"query {self.sink.query}: a batch has {twice['count']} rows with the key "
                f"{', '.join(f'{key}={twice[key]}' for key in keys)}: give merge_order, the column of which the "
                "greatest value is kept"
            )


def _query_id(spark: SparkSession, checkpoint: str) -> str:
    row = spark.read.text(f"{checkpoint}/metadata").first()
    assert row is not None
    return str(json.loads(row[0])["id"])


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
