"""Checks of a pipeline without starting Spark.

All errors are reported at once: an invalid part of a file does not hide errors in other parts.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from aeron_core.errors import AeronError, RecordingNotFoundError
from aeron_core.uri.channel_uri import ChannelUri
from pyspark_aeron.connect import SCHEME
from pyspark_aeron.decoders import find_decoder
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.pipeline.definition import (
    LAKEHOUSES,
    Pipeline,
    QuerySink,
    Source,
    Step,
    faults_of,
    option_of,
    read_document,
)
from pyspark_aeron.pipeline.lakehouses import ICEBERG_CATALOG, coordinates
from pyspark_aeron.reading.selection import Selection
from pyspark_aeron.writing.sink_options import SinkOptions

_DELTA_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_JARS: Final = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")

_Part = TypeVar("_Part", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The valid parts of a file."""

    master: str
    settings: Mapping[str, str]
    checkpoint: str | None
    sources: Mapping[str, Source]
    steps: Sequence[Step]
    sinks: Sequence[QuerySink]

    @property
    def is_elsewhere(self) -> bool:
        """Whether folders are on another machine, and settings on a server."""
        return self.master.startswith(SCHEME)


def check_file(path: Path) -> list[str]:
    """Return the problems of a file, one sentence each; raises ConfigurationError if it is not readable TOML."""
    document = read_document(path)
    try:
        return check_pipeline(Pipeline.model_validate(document))
    except ValidationError as error:
        return [*faults_of(path, error), *_problems(_sound_parts(document))]


def check_pipeline(pipeline: Pipeline) -> list[str]:
    """Return the problems of a pipeline, one sentence each."""
    return list(
        _problems(
            _Parts(
                pipeline.master,
                pipeline.settings,
                pipeline.checkpoint,
                pipeline.sources,
                pipeline.steps,
                pipeline.sinks,
            )
        )
    )


def _sound_parts(document: Mapping[str, Any]) -> _Parts:
    sources = document.get("sources")
    named = sources.items() if isinstance(sources, dict) else ()
    settings = document.get("settings")
    checkpoint = document.get("checkpoint")
    return _Parts(
        str(document.get("master", "local")),
        {str(key): str(value) for key, value in settings.items()} if isinstance(settings, dict) else {},
        checkpoint if isinstance(checkpoint, str) else None,
        {name: made for name, source in named for made in _made(Source, source)},
        [made for step in _tables(document, "steps") for made in _made(Step, step)],
        [made for sink in _tables(document, "sinks") for made in _made(QuerySink, sink)],
    )


def _tables(document: Mapping[str, Any], name: str) -> list[Any]:
    tables = document.get(name)
    return tables if isinstance(tables, list) else []


def _made(model: type[_Part], document: object) -> Iterator[_Part]:
    with suppress(ValidationError):
        yield model.model_validate(document)


def _problems(parts: _Parts) -> Iterator[str]:
    for name, source in parts.sources.items():
        yield from (f"source {name}: {problem}" for problem in _problems_of_source(source, parts))
        yield from (f"source {name}: {problem}" for problem in _problems_of_live(name, source, parts))
    for sink in parts.sinks:
        yield from (f"query {sink.query}: {problem}" for problem in _problems_of_sink(sink, parts))
    if parts.checkpoint is not None and not parts.is_elsewhere:
        yield from (f"checkpoint: {problem}" for problem in _problems_of_folder(parts.checkpoint))


def _problems_of_source(source: Source, parts: _Parts) -> Iterator[str]:
    if source.format == "aeron":
        options = dict(source.options)
        if source.archive is not None:
            options["archive"] = source.archive
        try:
            parsed = SourceOptions.parse(options)
            if parsed.live:
                # The archive of a live source is created when the query starts.
                ChannelUri.parse(parsed.channel or "")
            else:
                Selection(parsed).recordings()
        except RecordingNotFoundError as error:
            if not parts.is_elsewhere:
                yield str(error)
        except AeronError as error:
            yield str(error)
    elif source.format in LAKEHOUSES:
        yield from _problems_of_lakehouse(source, parts)
    try:
        find_decoder(source.decode)
    except AeronError as error:
        yield str(error)


def _problems_of_live(name: str, source: Source, parts: _Parts) -> Iterator[str]:
    """Yield a problem if a live stream feeds more than one query: its spool supports one reader.

    Finds the steps over it by their text, so a name within a literal counts, too.
    """
    if source.format != "aeron" or not _is_true(option_of(source.options, "live") or ""):
        return
    reached = {name} if source.dead_letters is None else {name, source.dead_letters}
    for step in parts.steps:
        if any(re.search(rf"\b{re.escape(view)}\b", step.sql) for view in reached):
            reached.add(step.name)
    queries = [sink.query for sink in parts.sinks if sink.source in reached]
    if len(queries) > 1:
        yield (
            f"live: must feed one query, not {', '.join(queries)}: record the stream with `aeron-core record` "
            "and read its archive"
        )


def _is_true(text: str) -> bool:
    """Return whether options with this text are true, such as `true` or `1`."""
    try:
        return TypeAdapter(bool).validate_python(text)
    except ValidationError:
        return False


def _problems_of_sink(sink: QuerySink, parts: _Parts) -> Iterator[str]:
    if sink.format == "aeron":
        options = dict(sink.options)
        if sink.path is not None:
            options["archive"] = sink.path
        try:
            SinkOptions.parse(options)
        except AeronError as error:
            yield str(error)
    elif sink.format in LAKEHOUSES:
        yield from _problems_of_lakehouse(sink, parts)
    if sink.path is not None and not parts.is_elsewhere:
        yield from (f"path: {problem}" for problem in _problems_of_folder(sink.path))


def _problems_of_folder(location: str) -> Iterator[str]:
    """Yield why a folder cannot be written; URIs are not checked."""
    if "://" in location:
        return
    path = Path(location)
    there = next((folder for folder in (path, *path.parents) if folder.exists()), Path())
    if not there.is_dir():
        yield f"{location}: {there} must be a folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        yield f"{location}: {there} must be writable for this user"


def _problems_of_lakehouse(part: Source | QuerySink, parts: _Parts) -> Iterator[str]:
    """Yield what a format lacks: a jar for the installed version of Spark, and settings."""
    if parts.is_elsewhere:
        return
    name = part.format
    if not any(name in parts.settings.get(setting, "") for setting in _JARS) and not _has_jar(name):
        yield (
            f"format {name}: it is not installed: settings must name a jar of it that was made for the Spark that is "
            f'installed, as "spark.jars" = "<path>" or "spark.jars.packages" = "<coordinates>": {coordinates(name)}'
        )
    if name == "delta":
        for setting, value in _DELTA_SETTINGS.items():
            if value not in parts.settings.get(setting, ""):
                yield f'format delta: settings must have "{setting}" = "{value}"'
    elif isinstance(part, QuerySink) and part.table is not None:
        setting = f"spark.sql.catalog.{part.table.partition('.')[0]}"
        if setting not in parts.settings:
            yield (
                f'table {part.table}: settings must have "{setting}" = "{ICEBERG_CATALOG}", and those of the catalog, '
                "such as its type and warehouse"
            )


def _has_jar(name: str) -> bool:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return False
    return any((Path(spec.origin).parent / "jars").glob(f"{name}-spark*.jar"))
