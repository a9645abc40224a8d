"""Decoders: turn payload bytes into columns, with Spark's own functions if they exist.

A decoder takes a DataFrame with a binary column `payload` and options, and returns one with the decoded columns instead
of it (`raw` keeps it); the other columns stay, except with `arrow-ipc`. Built-in decoders raise ConfigurationError for
an option that they do not have. Other distributions add decoders by the entry-point group `pyspark_aeron.decoders`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError, PluginError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Decoder = Callable[["DataFrame", Mapping[str, str]], "DataFrame"]

#: Entry-point group in which distributions register decoders.
GROUP: Final = "pyspark_aeron.decoders"
PAYLOAD: Final = "payload"
#: Column with the text of a payload that could not be decoded; null otherwise.
CORRUPT: Final = "_corrupt"
_EXAMPLE: Final = '"host string, load double"'


def find_decoder(name: str) -> Decoder:
    """Return a decoder by its name; raises PluginError if it is not installed or cannot be imported."""
    found = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in found:
        known = ", ".join(sorted(BUILT_IN.keys() | found.keys()))
        raise PluginError(
            f"no decoder {name!r}; installed: {known}; use one of these, or install the plugin that has it"
        )
    try:
        decoder: Decoder = found[name].load()
    except Exception as error:
        distribution = found[name].dist
        raise PluginError(
            f"decoder {name!r} of distribution {distribution.name if distribution else 'unknown'!r} cannot be "
            f"imported: {type(error).__name__}: {error}; upgrade or reinstall that distribution, or use another decoder"
        ) from error
    return decoder


def decode(frame: DataFrame, name: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return `frame` with its payload decoded by the decoder `name`.

    Raises PluginError if there is no such decoder, ConfigurationError for wrong options of a built-in one.
    """
    return find_decoder(name)(frame, options or {})


def decode_raw(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Return `frame` unchanged: the payload stays binary."""
    _take_options("raw", options, {})
    return frame


def decode_utf8(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn the payload into `text`; invalid UTF-8 becomes replacement characters."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    _take_options("utf8", options, {})
    return frame.withColumn("text", F.col(PAYLOAD).cast("string")).drop(PAYLOAD)


def decode_json(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn the payload into the columns of option `schema`, or without it into one VARIANT column, `value`.

    A payload that is not valid JSON, or does not fit `schema`, has its text in `_corrupt`, and nulls in the
    columns that could not be decoded.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    taken = _take_options("json", options, {"schema": ""})
    text = F.col(PAYLOAD).cast("string")
    if not taken["schema"]:
        value = F.try_parse_json(text)
        corrupt = F.when(value.isNull(), text)
        return frame.withColumn("value", value).withColumn(CORRUPT, corrupt).drop(PAYLOAD)
    schema = f"{taken['schema']}, `{CORRUPT}` string"
    parsed = F.from_json(text, schema, {"columnNameOfCorruptRecord": CORRUPT})
    return _spread(frame, parsed)


def decode_lumberjack(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn an event of Beats into `@timestamp`, `message`, and the complete event as VARIANT `event`.

    A payload that is not valid JSON yields nulls, and its text in `_corrupt`.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    _take_options("lumberjack", options, {})
    text = F.col(PAYLOAD).cast("string")
    event = F.try_parse_json(text)
    return (
        frame.withColumn("@timestamp", F.try_variant_get(event, "$['@timestamp']", "timestamp"))
        .withColumn("message", F.try_variant_get(event, "$.message", "string"))
        .withColumn("event", event)
        .withColumn(CORRUPT, F.when(event.isNull(), text))
        .drop(PAYLOAD)
    )


def decode_arrow_ipc(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn payloads that are Arrow IPC streams into their rows, with the columns of option `schema`.

    Of the other columns only `position` and `recording_id` stay. A null payload has no rows. One that is not an Arrow
    IPC stream, or has columns that cannot be cast to `schema`, fails the query with its position. Raises
    ConfigurationError if `schema` is not given or has no column names, and Spark's error if it is not DDL.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - needs pyarrow
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    taken = _take_options("arrow-ipc", options, {"schema": None})
    kept = [name for name in ("recording_id", "position") if name in frame.columns]
    types = "".join(f"`{name}` bigint, " for name in kept)
    schema = StructType.fromDDL(taken["schema"])
    if not isinstance(schema, StructType):
        raise ConfigurationError(
            f"decoder arrow-ipc: schema={taken['schema']!r}: must name columns, such as {_EXAMPLE}"
        )
    wanted = to_arrow_schema(schema)
    return frame.select(*kept, PAYLOAD).mapInArrow(_ArrowRows(tuple(kept), wanted), types + taken["schema"])


class _ArrowRows:
    """Conversion of payloads to rows, for `mapInArrow`; runs in the executors.

    Raises ConfigurationError with the position of a payload that cannot be converted.
    """

    def __init__(self, kept: tuple[str, ...], wanted: pa.Schema) -> None:
        self._kept = kept
        self._wanted = wanted

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        for batch in batches:
            kept = [batch.column(name).to_pylist() for name in self._kept]
            for index, payload in enumerate(batch.column(PAYLOAD)):
                if not payload.is_valid:
                    continue
                values = [column[index] for column in kept]
                pairs = zip(self._kept, values, strict=True)
                where = " at " + ", ".join(f"{name}={value}" for name, value in pairs) if values else ""
                try:
                    with pa.ipc.open_stream(payload.as_buffer()) as reader:
                        rows = list(reader)
                except (pa.ArrowInvalid, OSError) as error:
                    raise ConfigurationError(
                        f"payload{where}: must be an Arrow IPC stream: {error}; use the decoder that fits the "
                        "payloads, or begin after this position with startingPosition"
                    ) from None
                for row in rows:
                    constants = [pa.repeat(pa.scalar(value, pa.int64()), row.num_rows) for value in values]
                    yield pa.RecordBatch.from_arrays(
                        [*constants, *self._columns(row, where)], names=[*self._kept, *self._wanted.names]
                    )

    def _columns(self, row: pa.RecordBatch, where: str) -> list[pa.Array]:
        """Return the columns of the schema, cast to its types; raises ConfigurationError if that fails.

        `where`: the place of the payload in messages, with a space before it, or empty.
        """
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        try:
            return [row.column(field.name).cast(field.type) for field in self._wanted]
        except (KeyError, pa.ArrowException) as error:
            there, wanted = (
                ", ".join(f"{field.name} {field.type}" for field in schema)
                for schema in (row.schema, self._wanted)
            )
            raise ConfigurationError(
                f"payload{where}: has the columns {there}: must have columns that can be cast to {wanted}, those "
                f"of option schema: {error}"
            ) from None


def _spread(frame: DataFrame, parsed: object) -> DataFrame:
    """Return `frame` with the payload replaced by the fields of a struct."""
    kept = [name for name in frame.columns if name != PAYLOAD]
    return frame.withColumn("_decoded", parsed).select(*[f"`{name}`" for name in kept], "_decoded.*")  # type: ignore[arg-type]


def _take_options(name: str, options: Mapping[str, str], known: Mapping[str, str | None]) -> dict[str, str]:
    """Return the options with their defaults; a default of None marks a required option.

    Ignores upper and lower case of names, like Spark. Raises ConfigurationError for an unknown option, or without a
    required one.
    """
    given = {option.lower(): value for option, value in options.items()}
    for option in options:
        if option.lower() not in known:
            allowed = f"must be {', '.join(known)}" if known else "this decoder takes no options: remove it"
            raise ConfigurationError(f"decoder {name}: unknown option {option}: {allowed}")
    taken = {}
    for option, preset in known.items():
        value = given.get(option, preset)
        if value is None:
            raise ConfigurationError(f"decoder {name}: option {option}: must be given, such as {_EXAMPLE}")
        taken[option] = value
    return taken


BUILT_IN: Final[Mapping[str, Decoder]] = {
    "raw": decode_raw,
    "utf8": decode_utf8,
    "json": decode_json,
    "lumberjack": decode_lumberjack,
    "arrow-ipc": decode_arrow_ipc,
}
