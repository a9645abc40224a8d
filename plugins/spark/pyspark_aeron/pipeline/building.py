"""Building of a pipeline: Spark views and queries from its description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aeron_core.archive.reading.address import is_address
from aeron_core.archive.reading.opening import open_archive
from aeron_core.errors import AeronError
from aeron_core.recording.storage.read_only import ReadOnlyStore
from pyspark_aeron.decoders import dead_letters, decode, decode_sound
from pyspark_aeron.pipeline.definition import (
    AVAILABLE_NOW,
    LAKEHOUSES,
    Pipeline,
    QuerySink,
    Source,
    Watermark,
    option_of,
)
from pyspark_aeron.pipeline.lakehouses import aligned, check_merges, start_lakehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Built:
    """A pipeline with its views created, ready to start its queries."""

    pipeline: Pipeline
    spark: SparkSession
    views: Mapping[str, DataFrame]

    def start(self) -> list[StreamingQuery]:
        """Start and return all queries; if one fails to start, stop the others and raise Spark's error.

        Raises ConfigurationError if the table of a lakehouse has another schema, the jar of its format is missing, or
        the session allows one merge only.
        """
        check_merges(self.spark, self.pipeline.sinks)
        started: list[StreamingQuery] = []
        try:
            # A generator, so that `started` contains the queries before a failure.
            started.extend(self._start(sink) for sink in self.pipeline.sinks)
        except BaseException:
            for query in started:
                query.stop()
            raise
        return started

    def _start(self, sink: QuerySink) -> StreamingQuery:
        pipeline = self.pipeline
        checkpoint = f"{pipeline.checkpoint.rstrip('/')}/{sink.query}"
        frame = self.views[sink.source]
        if sink.format in LAKEHOUSES:
            frame = aligned(self.spark, sink, frame)
        writer = (
            frame.writeStream.queryName(sink.query)
            .outputMode(sink.mode)
            .option("checkpointLocation", checkpoint)
        )
        trigger = sink.trigger or pipeline.trigger
        if trigger == AVAILABLE_NOW:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=trigger)
        if sink.format == "jdbc":
            return writer.foreachBatch(_JdbcBatches(sink)).start()
        if sink.format in LAKEHOUSES:
            return start_lakehouse(self.spark, sink, frame, writer, checkpoint)
        writer = writer.format(sink.format)
        for name, value in sink.options.items():
            writer = writer.option(name, value)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        return writer.start(sink.path) if sink.path is not None else writer.start()


class _JdbcBatches:
    """Callback that appends each batch to a table, at least once: a repeated batch is written twice."""

    def __init__(self, sink: QuerySink) -> None:
        self._options = dict(sink.options)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        frame.write.format("jdbc").options(**self._options).mode("append").save()


def build(pipeline: Pipeline, spark: SparkSession) -> Built:
    """Create the views of all sources and steps, and return the pipeline, ready to start.

    Raises Spark's errors, and ConfigurationError or PluginError of a decoder.
    """
    views: dict[str, DataFrame] = {}
    for name, source in pipeline.sources.items():
        frame = _read(pipeline, spark, name, source)
        options = source.decode_options
        if source.dead_letters is not None:
            # Another query reads them: with one lease for both, the slower one would lose data that it has not read.
            payloads = _read(pipeline, spark, name, source, f".{source.dead_letters}")
            letters = dead_letters(payloads, source.decode, options)
            views[source.dead_letters] = _view(source.dead_letters, letters, None)
            frame = decode_sound(frame, source.decode, options)
        elif source.decode != "raw":
            frame = decode(frame, source.decode, options)
        views[name] = _view(name, frame, source.watermark)
    for step in pipeline.steps:
        views[step.name] = _view(step.name, spark.sql(step.sql), step.watermark)
    return Built(pipeline, spark, views)


def _read(
    pipeline: Pipeline, spark: SparkSession, name: str, source: Source, consumer_suffix: str = ""
) -> DataFrame:
    reader: Any = spark.read if source.static else spark.readStream
    reader = reader.format(source.format)
    options = dict(source.options)
    if source.archive is not None:
        options["archive"] = source.archive
    if source.format == "aeron" and not source.static:
        consumer = option_of(options, "consumername")
        if consumer is None and _has_leases(option_of(options, "archive") or source.path or ""):
            consumer = f"{pipeline.name}.{name}"
        if consumer is not None:
            options = {key: value for key, value in options.items() if key.lower() != "consumername"}
            options["consumerName"] = consumer + consumer_suffix
    for key, value in options.items():
        reader = reader.option(key, value)
    if source.columns is not None:
        reader = reader.schema(source.columns)
    frame: DataFrame = reader.load(source.path) if source.path is not None else reader.load()
    return frame


def _has_leases(archive: str) -> bool:
    """Return whether an archive can have leases: one of Aeron Archive is only read."""
    folder = archive.removeprefix("file://")
    if "://" in folder and not is_address(archive):
        return True
    try:
        return not isinstance(open_archive(folder).store, ReadOnlyStore)
    except AeronError:
        return True  # it is created later, or on another machine; otherwise the query reports what is wrong


def _view(name: str, frame: DataFrame, watermark: Watermark | None) -> DataFrame:
    if watermark is not None:
        frame = frame.withWatermark(watermark.column, watermark.delay)
    frame.createOrReplaceTempView(name)
    return frame
