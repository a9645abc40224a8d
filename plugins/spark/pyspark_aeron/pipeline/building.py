"""Building of a pipeline: Spark views and queries from its description."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Set
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
        # Started at once: with Spark Connect, views are looked up by their names until then.
        frame = self._views_of(sink)[sink.source]
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

    def _views_of(self, sink: QuerySink) -> Mapping[str, DataFrame]:
        """Return the views that a query reads, created again with leases of its own if others read its sources."""
        needed = _needed_by(self.pipeline, sink)
        shared = _shared_leases(self.pipeline) & needed
        return (
            _create_views(self.pipeline, self.spark, needed, shared, f".{sink.query}")
            if shared
            else self.views
        )


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
    return Built(pipeline, spark, _create_views(pipeline, spark, set(_names(pipeline))))


def _names(pipeline: Pipeline) -> list[str]:
    """Return the names of all views in order: sources and their dead letters, and steps."""
    letters = [source.dead_letters for source in pipeline.sources.values() if source.dead_letters is not None]
    return [*pipeline.sources, *letters, *(step.name for step in pipeline.steps)]


def _needed_by(pipeline: Pipeline, sink: QuerySink) -> set[str]:
    """Return the names of the views that a query reads, and of those that the text of their SQL contains."""
    statements = {step.name: step.sql for step in pipeline.steps}
    found: set[str] = set()
    pending = [sink.source]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            texts = re.findall(r"\w+", statements.get(name, "").lower())
            pending += [other for other in _names(pipeline) if other.lower() in texts]
    return found


def _shared_leases(pipeline: Pipeline) -> set[str]:
    """Return the names of sources and dead letters that several queries read with one lease.

    The positions of one query would replace those of another, and data that the slower one has not read be purged.
    """
    counts = Counter(name for sink in pipeline.sinks for name in _needed_by(pipeline, sink))
    leased = [
        each
        for name, source in pipeline.sources.items()
        if _consumer(pipeline, name, source) is not None
        for each in (name, source.dead_letters)
    ]
    return {name for name in leased if name is not None and counts[name] > 1}


def _create_views(
    pipeline: Pipeline,
    spark: SparkSession,
    needed: Set[str],
    shared: Set[str] = frozenset(),
    suffix: str = "",
) -> dict[str, DataFrame]:
    """Create and return the views in `needed`; `suffix` ends the names of the leases of those in `shared`."""
    views: dict[str, DataFrame] = {}
    for name, source in pipeline.sources.items():
        options, letters = source.decode_options, source.dead_letters
        if letters in needed and letters is not None:
            # Another query reads them, with a lease of its own.
            end = f".{letters}{suffix if letters in shared else ''}"
            payloads = _read(pipeline, spark, name, source, end)
            views[letters] = _view(letters, dead_letters(payloads, source.decode, options), None)
        if name in needed:
            frame = _read(pipeline, spark, name, source, suffix if name in shared else "")
            if letters is not None:
                frame = decode_sound(frame, source.decode, options)
            elif source.decode != "raw":
                frame = decode(frame, source.decode, options)
            views[name] = _view(name, frame, source.watermark)
    for step in pipeline.steps:
        if step.name in needed:
            views[step.name] = _view(step.name, spark.sql(step.sql), step.watermark)
    return views


def _read(
    pipeline: Pipeline, spark: SparkSession, name: str, source: Source, consumer_suffix: str
) -> DataFrame:
    reader: Any = spark.read if source.static else spark.readStream
    reader = reader.format(source.format)
    options = dict(source.options)
    if source.archive is not None:
        options["archive"] = source.archive
    consumer = _consumer(pipeline, name, source)
    if consumer is not None:
        options = {key: value for key, value in options.items() if key.lower() != "consumername"}
        options["consumerName"] = consumer + consumer_suffix
    for key, value in options.items():
        reader = reader.option(key, value)
    if source.columns is not None:
        reader = reader.schema(source.columns)
    frame: DataFrame = reader.load(source.path) if source.path is not None else reader.load()
    return frame


def _consumer(pipeline: Pipeline, name: str, source: Source) -> str | None:
    """Return the name of the lease of a source that only one query reads, None if it has none."""
    if source.format != "aeron" or source.static:
        return None
    given = option_of(source.options, "consumername")
    if given is not None:
        return given
    return f"{pipeline.name}.{name}" if _has_leases(source.archive_uri or source.path or "") else None


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
