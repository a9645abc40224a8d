"""What can be known of a pipeline without starting Spark."""

from __future__ import annotations

from aeron_core.errors import AeronError
from pyspark_aeron.decoders import find_decoder
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.pipeline.definition import Pipeline, Sink, Source
from pyspark_aeron.selection import Selection
from pyspark_aeron.sink_options import SinkOptions


def check_pipeline(pipeline: Pipeline) -> list[str]:
    """Return what is wrong, one sentence each."""
    problems = []
    for name, source in pipeline.sources.items():
        problems += [f"source {name}: {problem}" for problem in _problems_of_source(source)]
    for sink in pipeline.sinks:
        problems += [f"query {sink.query}: {problem}" for problem in _problems_of_sink(sink)]
    return problems


def _problems_of_source(source: Source) -> list[str]:
    problems = []
    if source.format == "aeron":
        options = dict(source.options)
        if source.archive is not None:
            options["archive"] = source.archive
        try:
            Selection(SourceOptions.parse(options)).recordings()
        except AeronError as error:
            problems.append(str(error))
    try:
        find_decoder(source.decode)
    except AeronError as error:
        problems.append(str(error))
    return problems


def _problems_of_sink(sink: Sink) -> list[str]:
    if sink.format != "aeron":
        return []
    options = dict(sink.options)
    if sink.path is not None:
        options["archive"] = sink.path
    try:
        SinkOptions.parse(options)
    except AeronError as error:
        return [str(error)]
    return []
