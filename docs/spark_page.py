"""Reference page of the Spark data source, sink, decoders and pipeline files, from their models."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticUndefined
from pyspark_aeron import decoders
from pyspark_aeron.columns import COLUMNS, HEADERS, KAFKA_COLUMNS, KAFKA_HEADERS, Column
from pyspark_aeron.options import Positions, SourceOptions
from pyspark_aeron.pipeline.definition import Pipeline, QuerySink, Source, Step, Watermark
from pyspark_aeron.writing.sink_options import SinkOptions

from aeron_core.archive.reading.address import KEYS

#: Options of Spark's Kafka connector with their equivalents here, or the reason why there is none.
KAFKA_ROWS = [
    ("`assign`, `subscribe`, `subscribePattern`", "`recordings`; `channel` and `streamId`; `channelPattern`"),
    ("`startingOffsets` earliest, latest, JSON", "`startingPosition`, with -2 and -1 in JSON as there"),
    (
        "`startingTimestamp`, `startingOffsetsByTimestamp`",
        "`startingPosition` with a time, for all recordings alike",
    ),
    (
        "`startingOffsetsByTimestampStrategy`",
        "none: a time after the last message selects the end of the recording",
    ),
    ("`endingOffsets`, `endingTimestamp`", "`endingPosition`"),
    ("`maxOffsetsPerTrigger`", "`maxBytesPerTrigger`, divided in proportion to the lag of each recording"),
    ("`minOffsetsPerTrigger`, `maxTriggerDelay`", "`minBytesPerTrigger`, `maxTriggerDelay`"),
    ("`minPartitions`", "`minPartitions`"),
    ("`maxRecordsPerPartition`", "`partitionLength`, in bytes"),
    ("`failOnDataLoss`", "`failOnDataLoss`"),
    (
        "`includeHeaders`",
        "`includeHeaders`: fields of the catalogue; Aeron messages have no headers",
    ),
    ("`groupIdPrefix`, `kafka.group.id`", "`consumerName`: a lease that retention respects, not a group"),
    (
        "`pollTimeoutMs`, `fetchOffset.numRetries`, `retryIntervalMs`",
        "`pollTimeout`; files need no retries, and the client of an object store retries by itself",
    ),
    ("columns `key`, `value`, `topic`, …", "`kafkaSchema=true`"),
    ("`Trigger.AvailableNow`, `Once`, `ProcessingTime`", "the same"),
    (
        "continuous processing, real-time mode",
        'none: Spark does not support them for Python data sources, and the sink of `format("aeron-jvm")` refuses them',
    ),
    ("asynchronous progress tracking", "as a source; Spark rejects it for Python sinks"),
    (
        "lag in `sources[].metrics`",
        "`LagListener`, in bytes and seconds for every stream; `aeron-core pipeline run` shows both",
    ),
    ("preferred locations", "none: Spark accepts no hints from Python data sources"),
    ("sink, at least once", "recordings exactly once; channels at least once"),
    ("sink: `topic` column", "none: a query writes to one archive or channel"),
    ("`kafka.*` of consumer and producer", "the channel URI, as for any other client"),
]


def spark_page() -> Iterator[str]:
    """Yield the page."""
    yield "# Spark\n"
    yield (
        "The format `aeron` for `spark.read`, `spark.readStream`, `DataFrame.write` and `DataFrame.writeStream`; "
        "install "
        "the extra `aeron-core[spark]`. Option names are case-insensitive. [Sizes and durations]"
        "(settings.md#sizes-and-durations) are written `4m` and `15min`.\n"
    )
    yield "## Options of the source\n"
    yield from _fields("option", SourceOptions, names_in=to_camel)
    yield "### Address of a running Aeron Archive\n"
    yield (
        "In `archive`, and in place of a folder on the command line: `aeron:archive?control-request=…|key=value|…`; "
        "see [read a running archive](../how-to/use-aeron-archive.md#read-a-running-archive). The values of "
        "`control-request`, `control-response` and `replay` are channels, with all their parameters.\n"
    )
    yield "| key | value |\n|---|---|"
    for key, meaning in KEYS.items():
        yield f"| `{key}` | {meaning} |"
    yield ""
    yield "## Columns\n"
    yield from _columns(COLUMNS | {"headers": HEADERS})
    yield "With `kafkaSchema`:\n"
    yield from _columns(KAFKA_COLUMNS | {"headers": KAFKA_HEADERS})
    yield "`headers` exists with `includeHeaders`. All columns are nullable; `.schema(…)` selects columns.\n"
    yield "## Options of the sink\n"
    yield (
        'They are those of `format("aeron")` and `format("aeron-jvm")`. With outputMode `complete`, each batch appends '
        "the whole result. Rows need a column `payload` or `value`, binary or string. `reserved` (bigint, optional) is "
        "the reserved value of the message in a recording.\n"
    )
    yield from _fields("option", SinkOptions, names_in=to_camel)
    yield "## Decoders\n\n| decoder | effect |\n|---|---|"
    for name, decoder in decoders.BUILT_IN.items():
        yield f"| `{name}` | {_first_line(decoder)} |"
    yield (
        f"\nAdd decoders by the entry-point group `{decoders.GROUP}`: functions of a DataFrame and options. "
        "`aeron-core plugins new NAME --kind decoder` writes a distribution with one.\n"
    )
    yield "## In Python\n"
    yield "```{api} pyspark_aeron\nregister\nDefaultSource\n```\n"
    yield "```{api} pyspark_aeron.decoders\ndecode\ndecode_sound\ndead_letters\n```\n"
    yield "```{api} pyspark_aeron.lag_listener\nLagListener()\nQueryLag\n```\n"
    yield "```{api} pyspark_aeron.lag_metrics\nLagMetrics()\n```\n"
    yield "```{api} pyspark_aeron.session\nsession\n```\n"
    yield "```{api} pyspark_aeron.pipeline.definition\nload_pipeline\nPipeline()\n```\n"
    yield "```{api} pyspark_aeron.pipeline.building\nbuild\nBuilt\n```\n"
    yield "## Pipeline files\n"
    for title, model in (
        ("", Pipeline),
        ("`[sources.NAME]`", Source),
        ("`[[steps]]`", Step),
        ("`watermark`", Watermark),
        ("`[[sinks]]`", QuerySink),
    ):
        if title:
            yield f"### {title}\n"
        yield from _fields("key", model, names_in=lambda name: name)
    yield "Commands: [`aeron-core pipeline`](cli.md#aeron-core-pipeline-demo).\n"
    yield "## Comparison with the Kafka connector\n\n| Kafka connector | aeron |\n|---|---|"
    for there, here in KAFKA_ROWS:
        yield f"| {there} | {here} |"


def _fields(kind: str, model: type[BaseModel], *, names_in: Any) -> Iterator[str]:
    yield f"| {kind} | default | meaning |\n|---|---|---|"
    for name, field in model.model_fields.items():
        written = field.alias if field.alias and field.alias == "from" else names_in(name)
        yield f"| `{written}` | {_default(field.default)} | {field.description} |"
    yield ""


def _default(value: object) -> str:
    if value in (None, "", (), {}) or value is PydanticUndefined:
        return ""
    if isinstance(value, Positions):
        return f"`{value.at}`"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"`{_short(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _short(value: int) -> str:
    """Return a length or duration with the largest fitting unit."""
    for unit, size in (("m", 1024**2), ("min", 60 * 10**9), ("s", 10**9), ("ms", 10**6)):
        if value >= size and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


def _columns(columns: Mapping[str, Column]) -> Iterator[str]:
    yield "| column | type | meaning |\n|---|---|---|"
    for name, column in columns.items():
        yield f"| `{name}` | `{column.type}` | {column.meaning} |"
    yield ""


def _first_line(function: object) -> str:
    return (inspect.getdoc(function) or "").splitlines()[0]
