"""Decoding of payloads by a function of Arrow arrays, which runs in the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PAYLOAD: Final = "payload"
#: Column with the reason why a payload could not be decoded, null otherwise. Of `json` and `lumberjack`, its text.
CORRUPT: Final = "_corrupt"
#: Example of the option `schema` of most decoders.
COLUMNS_EXAMPLE: Final = '"host string, load double"'


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of the payloads of a batch."""

    columns: Sequence[pa.Array]  # of the fields, null in a row that could not be decoded
    reasons: pa.Array  # of strings, null in a row that was decoded
    kept: pa.Array | None = None  # of booleans: whether a row stays; None: all stay


#: Turns binary payloads, some of them null, into columns.
Convert = Callable[["pa.BinaryArray"], Decoded]


def map_payloads(frame: DataFrame, fields: StructType, convert: Convert) -> DataFrame:
    """Return `frame` with `fields` and `_corrupt` instead of the payload; `convert` is pickled."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - needs pyarrow
    from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415 - takes half a second

    kept = [field for field in frame.schema if field.name != PAYLOAD]
    schema = StructType([*kept, *fields, StructField(CORRUPT, StringType())])
    names = tuple(field.name for field in kept)
    return frame.mapInArrow(_Mapping(names, to_arrow_schema(fields), convert), schema)


@dataclass(frozen=True, slots=True)
class _Mapping:
    """Function for `mapInArrow`."""

    kept: tuple[str, ...]
    wanted: pa.Schema
    convert: Convert

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - for executors only

        names = [*self.kept, *self.wanted.names, CORRUPT]
        for batch in batches:
            decoded = self.convert(batch.column(PAYLOAD).cast(pa.binary()))
            columns = [
                array.cast(field.type) for array, field in zip(decoded.columns, self.wanted, strict=True)
            ]
            others = [batch.column(name) for name in self.kept]
            made = pa.RecordBatch.from_arrays([*others, *columns, decoded.reasons], names=names)
            yield made if decoded.kept is None else made.filter(decoded.kept)


def take_options(
    name: str, options: Mapping[str, str], known: Mapping[str, str | None], example: str = COLUMNS_EXAMPLE
) -> dict[str, str]:
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
            raise ConfigurationError(f"decoder {name}: option {option}: must be given, such as {example}")
        taken[option] = value
    return taken
