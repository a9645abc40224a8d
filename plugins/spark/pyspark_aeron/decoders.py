"""Decoders: turn payload bytes into columns, with Spark's own functions if they exist.

A decoder takes a DataFrame with a binary column `payload` and options, and returns one with the decoded columns instead
of it (`raw` keeps it); the other columns stay, except with `arrow-ipc`. Built-in decoders raise ConfigurationError for
an option that they do not have. Other distributions add decoders by the entry-point group `pyspark_aeron.decoders`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from aeron_core.errors import ConfigurationError, PluginError
from pyspark_aeron.decoding.arrow_ipc import broken_arrow, decode_arrow_ipc
from pyspark_aeron.decoding.avro_schema import MARK, avro_schemas
from pyspark_aeron.decoding.protobuf import ProtobufConvert, ddl_of, message_class, read_descriptors
from pyspark_aeron.decoding.rows import CORRUPT, PAYLOAD, map_payloads, take_options
from pyspark_aeron.decoding.sbe import SbeConvert
from pyspark_aeron.decoding.sbe_schema import read_layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Decoder = Callable[["DataFrame", Mapping[str, str]], "DataFrame"]

#: Entry-point group in which distributions register decoders.
GROUP: Final = "pyspark_aeron.decoders"
_RAW: Final = "_raw"
#: Reasons for dead letters of the decoders that write the text of a payload into `_corrupt`.
_REASONS: Final = {"json": "not JSON, or not of the schema", "lumberjack": "not JSON"}


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


def dead_letters(frame: DataFrame, name: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return the payloads of `frame` that the decoder `name` cannot decode: `payload`, `reason`, and where they are.

    Columns of the place are `recording_id` and `position`, if `frame` has them. Raises as `decode`, and
    ConfigurationError for a decoder that has no column `_corrupt`.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    place = [column for column in ("recording_id", "position") if column in frame.columns]
    if name == "arrow-ipc":
        return broken_arrow(frame, place, options or {})
    found = decode(frame.withColumn(_RAW, F.col(PAYLOAD)), name, options)
    if not {CORRUPT, _RAW} <= set(found.columns):
        raise ConfigurationError(
            f"decoder {name}: it finds no payload corrupt: remove dead_letters, or use a decoder with a column "
            f"{CORRUPT}, such as json"
        )
    reason = F.lit(_REASONS[name]) if name in _REASONS else F.col(CORRUPT)
    broken = found.where(F.col(CORRUPT).isNotNull())
    return broken.select(*place, reason.alias("reason"), F.col(_RAW).alias(PAYLOAD))


def decode_sound(frame: DataFrame, name: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return `frame` decoded without the payloads that `dead_letters` returns, and without `_corrupt`."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    chosen = {**(options or {}), "corrupt": "skip"} if name == "arrow-ipc" else options
    decoded = decode(frame, name, chosen)
    return decoded.where(F.col(CORRUPT).isNull()).drop(CORRUPT) if CORRUPT in decoded.columns else decoded


def decode_raw(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Return `frame` unchanged: the payload stays binary."""
    take_options("raw", options, {})
    return frame


def decode_utf8(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn the payload into `text`; invalid UTF-8 becomes replacement characters."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    take_options("utf8", options, {})
    return frame.withColumn("text", F.col(PAYLOAD).cast("string")).drop(PAYLOAD)


def decode_json(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn the payload into the columns of option `schema`, or without it into one VARIANT column, `value`.

    A payload that is not valid JSON, or does not fit `schema`, has its text in `_corrupt`, and nulls in the
    columns that could not be decoded.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    taken = take_options("json", options, {"schema": ""})
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

    take_options("lumberjack", options, {})
    text = F.col(PAYLOAD).cast("string")
    event = F.try_parse_json(text)
    return (
        frame.withColumn("@timestamp", F.try_variant_get(event, "$['@timestamp']", "timestamp"))
        .withColumn("message", F.try_variant_get(event, "$.message", "string"))
        .withColumn("event", event)
        .withColumn(CORRUPT, F.when(event.isNull(), text))
        .drop(PAYLOAD)
    )


def decode_avro(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn the payload, an Avro record without a header, into the columns of option `schema`, a file with JSON.

    Spark's own function decodes; its jar is not part of Spark. A payload that is not of the schema has its reason in
    `_corrupt`.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - takes half a second

    taken = take_options("avro", options, {"schema": None}, "schemas/quote.avsc")
    schema, marked = avro_schemas(Path(taken["schema"]))
    decoded = _with_avro(frame, schema, {"avroSchema": marked, "mode": "PERMISSIVE"})
    is_broken = F.col(PAYLOAD).isNotNull() & F.col(f"_decoded.{MARK}").isNull()
    kept = [f"`{column}`" for column in frame.columns if column != PAYLOAD]
    reason = F.when(is_broken, F.lit(f"not Avro of the schema {taken['schema']}")).alias(CORRUPT)
    return decoded.select(*kept, "_decoded.*", reason).drop(MARK)


def _with_avro(frame: DataFrame, schema: str, options: dict[str, str]) -> DataFrame:
    """Return `frame` with the record in `_decoded`; raises ConfigurationError if the session has no jar of Avro."""
    from pyspark import __version__  # noqa: PLC0415 - optional
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes half a second
    from pyspark.sql.avro.functions import from_avro  # noqa: PLC0415 - takes half a second

    try:
        return frame.withColumn("_decoded", from_avro(PAYLOAD, schema, options))
    except PySparkException as error:
        if error.getCondition() != "AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE":
            raise
        raise ConfigurationError(
            'decoder avro: the session has no jar of Avro: settings must have "spark.jars.packages" = '
            f'"org.apache.spark:spark-avro_2.13:{__version__}"'
        ) from None


def decode_sbe(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn an SBE message into the fields of its fixed block, by option `schema`, a message schema in XML.

    `message` names the message, if there are several; payloads with other messages of the schema have no rows. A
    message with groups or variable data needs `rest` = ignore: these are not decoded. A payload that is too short or
    of another schema has its reason in `_corrupt`. Raises ConfigurationError for an unusable schema.
    """
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    taken = take_options("sbe", options, {"schema": None, "message": "", "rest": ""}, "schemas/quotes.xml")
    layout = read_layout(Path(taken["schema"]), taken["message"])
    if layout.rest and taken["rest"] != "ignore":
        raise ConfigurationError(
            f"decoder sbe: message {layout.name} has groups or variable data, {', '.join(layout.rest)}, which are not "
            "decoded: give option rest = ignore to decode its fixed fields only"
        )
    return map_payloads(frame, cast("StructType", StructType.fromDDL(layout.ddl)), SbeConvert(layout))


def decode_protobuf(frame: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Turn a Protobuf message into the fields of option `message`, by option `descriptors`, a file written by protoc.

    Python decodes one message after another, about 80,000 with ten values per second and core. A payload that is not
    such a message has its reason in `_corrupt`. Raises ConfigurationError for an unusable descriptor file, or without
    the library `protobuf`.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - needs pyarrow
    from pyspark.sql.types import StructType  # noqa: PLC0415 - takes half a second

    taken = take_options(
        "protobuf", options, {"descriptors": None, "message": None}, "schemas/quotes.desc, or package.Quote"
    )
    descriptors = read_descriptors(taken["descriptors"])
    columns = ddl_of(message_class(descriptors, taken["message"]).DESCRIPTOR)
    fields = cast("StructType", StructType.fromDDL(", ".join(f"`{name}` {kind}" for name, kind in columns)))
    return map_payloads(
        frame, fields, ProtobufConvert(descriptors, taken["message"], to_arrow_schema(fields))
    )


def _spread(frame: DataFrame, parsed: object) -> DataFrame:
    """Return `frame` with the payload replaced by the fields of a struct."""
    kept = [name for name in frame.columns if name != PAYLOAD]
    return frame.withColumn("_decoded", parsed).select(*[f"`{name}`" for name in kept], "_decoded.*")  # type: ignore[arg-type]


BUILT_IN: Final[Mapping[str, Decoder]] = {
    "raw": decode_raw,
    "utf8": decode_utf8,
    "json": decode_json,
    "lumberjack": decode_lumberjack,
    "arrow-ipc": decode_arrow_ipc,
    "avro": decode_avro,
    "sbe": decode_sbe,
    "protobuf": decode_protobuf,
}
